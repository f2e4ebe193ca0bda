import type { z } from 'zod';
import type { Variables } from './config-variables';
import { VENDOR_KINDS, type VendorKind } from './domain/account';

/** As an account of the API has them; the file of a private key is read when it is needed. */
export interface VendorConfig {
  settings: Record<string, string>;
  secrets: Record<string, string>;
  privateKeyFile?: string | undefined;
  /** How many of its calls there may be at once. */
  callsMax?: number | undefined;
}

export function needVendors(v: Variables, context: z.core.$RefinementCtx): void {
  for (const kind of VENDOR_KINDS.filter((one) => usesVendor(v, one))) {
    const need = (path: keyof Variables, why: string) => {
      if (v[path] === undefined)
        context.addIssue({ code: 'custom', path: [path], message: `needed because ${why}` });
    };
    for (const path of VENDOR_VARIABLES[kind].needed) need(path, `a provider is ${kind}`);
    if (kind === 'telnyx' && v.FANFARE_VOICE_PROVIDER === kind)
      need('FANFARE_TELNYX_CONNECTION_ID', 'FANFARE_VOICE_PROVIDER is telnyx');
    if (kind !== 'twilio') continue;
    if (v.FANFARE_TWILIO_API_KEY) need('FANFARE_TWILIO_API_SECRET', 'FANFARE_TWILIO_API_KEY is set');
    else need('FANFARE_TWILIO_AUTH_TOKEN', 'a provider is twilio and FANFARE_TWILIO_API_KEY is not set');
  }
}

export function vendorsOf(v: Variables): Partial<Record<VendorKind, VendorConfig>> {
  const read = (names: Record<string, keyof Variables>) =>
    Object.fromEntries(
      Object.entries(names).flatMap(([member, name]) => {
        const value = v[name];
        return typeof value === 'string' ? [[member, value]] : [];
      }),
    );
  return Object.fromEntries(
    VENDOR_KINDS.filter((kind) => usesVendor(v, kind)).map((kind) => {
      const { settings, secrets } = VENDOR_VARIABLES[kind];
      const privateKeyFile = kind === 'vonage' ? v.FANFARE_VONAGE_PRIVATE_KEY_FILE : undefined;
      const callsMax = v.FANFARE_VOICE_ACCOUNT_CONCURRENT_CALLS;
      return [kind, { settings: read(settings), secrets: read(secrets), privateKeyFile, callsMax }];
    }),
  );
}

/** Each vendor's variables by the member of settings or secrets that they are (api.md 13 and 15). */
const VENDOR_VARIABLES = {
  twilio: {
    settings: {
      accountSid: 'FANFARE_TWILIO_ACCOUNT_SID',
      apiKey: 'FANFARE_TWILIO_API_KEY',
      messagingServiceSid: 'FANFARE_TWILIO_MESSAGING_SERVICE_SID',
      url: 'FANFARE_TWILIO_URL',
    },
    secrets: { authToken: 'FANFARE_TWILIO_AUTH_TOKEN', apiSecret: 'FANFARE_TWILIO_API_SECRET' },
    needed: ['FANFARE_TWILIO_ACCOUNT_SID'],
  },
  telnyx: {
    settings: {
      publicKey: 'FANFARE_TELNYX_PUBLIC_KEY',
      connectionId: 'FANFARE_TELNYX_CONNECTION_ID',
      messagingProfileId: 'FANFARE_TELNYX_MESSAGING_PROFILE_ID',
      url: 'FANFARE_TELNYX_URL',
    },
    secrets: { apiKey: 'FANFARE_TELNYX_API_KEY' },
    needed: ['FANFARE_TELNYX_API_KEY', 'FANFARE_TELNYX_PUBLIC_KEY'],
  },
  vonage: {
    settings: { applicationId: 'FANFARE_VONAGE_APPLICATION_ID', url: 'FANFARE_VONAGE_URL' },
    secrets: { signatureSecret: 'FANFARE_VONAGE_SIGNATURE_SECRET' },
    needed: [
      'FANFARE_VONAGE_APPLICATION_ID',
      'FANFARE_VONAGE_PRIVATE_KEY_FILE',
      'FANFARE_VONAGE_SIGNATURE_SECRET',
    ],
  },
} as const satisfies Record<
  VendorKind,
  Record<'settings' | 'secrets', Record<string, keyof Variables>> & { needed: readonly (keyof Variables)[] }
>;

const usesVendor = (v: Variables, kind: VendorKind): boolean =>
  v.FANFARE_SMS_PROVIDER === kind || v.FANFARE_VOICE_PROVIDER === kind;
