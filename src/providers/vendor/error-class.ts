import type { VendorKind } from '../../domain/account';

/**
 * What a vendor's error code says, about whom. The table is data, because vendors split their codes again and
 * again; a code that is not in it is classified by the status it came with (vendor-answer.ts).
 *
 * - `permanent`: this message will never be taken.
 * - `transient`: not now; counts as an attempt.
 * - `throttled`: too much at once; counts as none.
 * - `account`: the vendor refuses all that we send by this account.
 * - `daily`: the same until a day is over, because the account has had its most messages or has cost its most. It ends by itself.
 * - `sender`: it refuses this sender at this account, and takes others.
 * - `expired`: the message's time was over at the vendor.
 * - `unknown`: it says itself that it does not know.
 */
export type ErrorClass =
  | 'permanent'
  | 'transient'
  | 'throttled'
  | 'account'
  | 'daily'
  | 'sender'
  | 'expired'
  | 'unknown';

/** `undefined` for a code that is not known. */
export const errorClass = (kind: VendorKind, code: string): ErrorClass | undefined =>
  CLASSES[kind].get(code.trim());

type Codes = Partial<Record<ErrorClass, string>>;

const TWILIO: Codes = {
  permanent:
    // The address; 21610 is an opt-out, which suppresses (domain/delivery-codes.ts). The text. The country.
    '21211 21214 21217 21612 21614 30005 30006 13224 21610 21617 21619 30007 30019 21408 21215 30004',
  transient: '30003 20503',
  throttled: '20429 21611 22005 10004 30001 30022 30023 30027 63017 63018',
  account: '20003 20005 20008 20404 10001 21609 21701 21705 30002',
  daily: '63038',
  // Not ours, not able to send this, or not registered.
  sender: '21210 21212 21601 21603 21606 21659 21660 21661 21703 21704 21712 30024 30032 30034 30035',
  expired: '30036',
  unknown: '30008 30410',
};

const TELNYX: Codes = {
  // Those with a letter are of calls (telnyx-client.ts): a country that is not allowed, no number, a price that is too high.
  permanent:
    '10002 10016 40001 40012 40301 40310 40319 40300 40002 40003 40015 40017 40009 40302 40304 40316 40322 40328 40309 D13 D14 D24',
  transient: '40004 40006 40008 10008',
  throttled: '10011 90103 40011 40016 40018 40318 D1 D2 D3 D22',
  account:
    '10009 10010 10039 20000 20001 20002 20003 20004 20006 20008 20012 20013 20100 D10 D11 D12 D15 D16 D17 D18 D19 D38',
  // What a messaging profile may cost in a day.
  daily: '40333',
  // 10001 is an inactive number.
  sender: '10001 40010 40013 40100 40305 40306 40312 40314 40315 40320 40321 40329 D35 D36 D51',
  expired: '40005 40014',
  unknown: '10007',
};

const VONAGE: Codes = {
  permanent: '6 33 1040 7 1050 2 3 12 1010 1020 1022 1090 29',
  transient: '5 1030 1100',
  throttled: '1 1000',
  account: '4 8 9 11 14 1060 1070 1080 low-balance unprovisioned account-suspended',
  sender: '15 1120',
};

const table = (codes: Codes): ReadonlyMap<string, ErrorClass> =>
  new Map(
    Object.entries(codes).flatMap(([name, list]) =>
      list.split(' ').map((code) => [code, name as ErrorClass] as const),
    ),
  );

const CLASSES: Readonly<Record<VendorKind, ReadonlyMap<string, ErrorClass>>> = {
  twilio: table(TWILIO),
  telnyx: table(TELNYX),
  vonage: table(VONAGE),
};
