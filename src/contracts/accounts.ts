import { createPrivateKey, createPublicKey } from 'node:crypto';
import { z } from 'zod';
import { optedOutCodes, smtpRelays, tlvs, urls } from '../config-values';
import { ACCOUNT_KINDS, type AccountKind, MAIL_VENDORS, type MailVendor } from '../domain/account';
import { CHANNELS } from '../domain/channel';
import { LIMITS } from '../domain/limits';
import { displayName, givenId, integer } from './common';
import { id, success, time } from './envelope';
import { finding, refused } from './validation-issue';

/** What owners write about accounts at carriers (api.md 15). All of it is ours, so all of it is strict. */

/** Reads a text as a variable of the environment would be read, and keeps the text. */
const asVariable = (schema: z.ZodType<unknown, string>) =>
  z
    .string()
    .trim()
    .min(1)
    .max(LIMITS.accountValueChars)
    .superRefine((value, context) => {
      for (const { message } of schema.safeParse(value).error?.issues ?? []) {
        context.addIssue(finding('invalid_format', message));
      }
    });

const httpUrl = z
  .string()
  .trim()
  .max(LIMITS.accountValueChars)
  .superRefine((value, context) => {
    const url = URL.canParse(value) ? new URL(value) : undefined;
    if (url?.protocol !== 'https:' && url?.protocol !== 'http:') {
      context.addIssue(
        finding('invalid_url', 'This must be an address such as https://carrier.example/send'),
      );
    } else if (url.username !== '' || url.password !== '') {
      const message = 'This must not hold a user or password, because answers show it; use secrets.headers';
      context.addIssue(finding('invalid_url', message));
    }
  });

const HEADER = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
/** Headers that the provider writes itself, and headers that belong to the connection. */
const OWN_HEADERS =
  /^(content-type|content-length|idempotency-key|host|connection|transfer-encoding|upgrade|expect|te|keep-alive)$/i;

const headers = z
  .record(
    z
      .string()
      .regex(HEADER, 'This must be the name of a header')
      .refine((name) => !OWN_HEADERS.test(name), refused('invalid_value', 'This header is not yours to set')),
    z
      .string()
      .max(LIMITS.accountValueChars)
      .regex(/^[\t\x20-\x7e]*$/, 'This must be printable ASCII'),
  )
  .refine(
    (value) => Object.keys(value).length <= LIMITS.accountHeaders,
    refused('too_many', `At most ${LIMITS.accountHeaders} headers`),
  );

/** An id of a vendor's: services with the same API have others than its own. */
const vendorId = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'This must be an id of letters, digits, - and _');
const secretText = z.string().trim().min(1).max(LIMITS.accountValueChars);
const vendorChannels = z
  .array(z.enum(['sms', 'voice']))
  .min(1)
  .refine(
    (value) => new Set(value).size === value.length,
    refused('repeated', 'Each channel may stand here once'),
  )
  .default(['sms', 'voice']);

/** An Ed25519 key as Telnyx shows it. */
const ed25519Key = z
  .string()
  .trim()
  .refine(
    (value) => /^[A-Za-z0-9+/]{43}=$/.test(value),
    refused('invalid_format', 'This must be a public key of 32 bytes in base64'),
  );

/** A key as SendGrid shows it. */
const ecKey = z
  .string()
  .trim()
  .max(1_000)
  .refine(isEcKey, refused('invalid_format', 'This must be a public key of P-256 in base64'));

function isEcKey(value: string): boolean {
  try {
    const key = createPublicKey({ key: Buffer.from(value, 'base64'), format: 'der', type: 'spki' });
    return key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1';
  } catch {
    return false;
  }
}

/** Without them, every event of the service would be refused. */
const PROOFS: Readonly<Record<MailVendor, readonly ['settings' | 'secrets', string][]>> = {
  ses: [['settings', 'topicArn']],
  sendgrid: [['settings', 'publicKey']],
  mailgun: [['secrets', 'signingKey']],
  postmark: [
    ['settings', 'webhookUser'],
    ['secrets', 'webhookPassword'],
  ],
};

const pemKey = secretText.refine(
  isPrivateKey,
  refused('invalid_format', 'This must be an RSA private key in PEM'),
);

function isPrivateKey(value: string): boolean {
  try {
    return createPrivateKey(value).asymmetricKeyType === 'rsa';
  } catch {
    return false;
  }
}

const optedOut = asVariable(optedOutCodes).optional();
const channels = z
  .array(z.enum(CHANNELS))
  .min(1)
  .refine(
    (value) => new Set(value).size === value.length,
    refused('repeated', 'Each channel may stand here once'),
  );
const only = <Name extends (typeof CHANNELS)[number]>(channel: Name) =>
  z.tuple([z.literal(channel)]).default([channel] as [Name]);

/** The settings and secrets of each kind of account. */
const KINDS = {
  http: {
    channels,
    settings: z.strictObject({ url: httpUrl, idempotent: z.boolean().optional() }),
    secrets: z.strictObject({ headers: headers.optional() }).prefault({}),
  },
  smtp: {
    channels: only('email'),
    settings: z
      .strictObject({
        connections: integer.min(1).max(LIMITS.smtpConnectionsMax).optional(),
        heloName: z
          .string()
          .regex(/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/i, 'This is not a domain name')
          .optional(),
        events: z.enum(MAIL_VENDORS).optional(),
        topicArn: z
          .string()
          .trim()
          .regex(/^arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[A-Za-z0-9_.-]{1,256}$/, 'This is no topic of SNS')
          .optional(),
        publicKey: ecKey.optional(),
        webhookUser: secretText.regex(/^[^:]+$/, 'A name has no colon').optional(),
      })
      .prefault({}),
    secrets: z.strictObject({
      url: asVariable(smtpRelays),
      signingKey: secretText.optional(),
      webhookPassword: secretText.optional(),
    }),
  },
  smpp: {
    channels: only('sms'),
    settings: z
      .strictObject({
        binds: integer.min(1).max(50).optional(),
        window: integer.min(1).max(1_000).optional(),
        messageId: z.enum(['auto', 'hex', 'decimal']).optional(),
        tlvs: asVariable(tlvs).optional(),
        optedOutCodes: optedOut,
      })
      .prefault({}),
    secrets: z.strictObject({ url: asVariable(urls(/^smpps?$/)) }),
  },
  kannel: {
    channels: only('sms'),
    settings: z.strictObject({}).prefault({}),
    secrets: z.strictObject({ url: asVariable(urls(/^https?$/)) }),
  },
  simulator: {
    channels,
    settings: z
      .strictObject({
        seed: integer.min(0).max(2_147_483_647).optional(),
        latencyMs: integer.min(0).max(60_000).optional(),
      })
      .prefault({}),
    secrets: z.strictObject({}).prefault({}),
  },
  twilio: {
    channels: vendorChannels,
    settings: z.strictObject({
      accountSid: vendorId,
      apiKey: vendorId.optional(),
      messagingServiceSid: vendorId.optional(),
      url: httpUrl.optional(),
    }),
    secrets: z.strictObject({ authToken: secretText, apiSecret: secretText.optional() }),
  },
  telnyx: {
    channels: vendorChannels,
    settings: z.strictObject({
      publicKey: ed25519Key,
      connectionId: vendorId.optional(),
      messagingProfileId: vendorId.optional(),
      url: httpUrl.optional(),
    }),
    secrets: z.strictObject({ apiKey: secretText }),
  },
  vonage: {
    channels: vendorChannels,
    settings: z.strictObject({ applicationId: vendorId, url: httpUrl.optional() }),
    secrets: z.strictObject({ privateKey: pemKey, signatureSecret: secretText }),
  },
} as const satisfies Record<AccountKind, unknown>;

const notBesideOthers = refused('not_applicable', '`*` means every workspace, so that it stands alone');
const workspaces = z
  .union([
    z.tuple([z.literal('*')]),
    z
      .array(givenId.refine((one) => one !== '*', notBesideOthers))
      .min(1)
      .max(LIMITS.accountWorkspaces),
  ])
  .default(['*']);
const calls = { maxConcurrentCalls: integer.min(1).max(LIMITS.liveCallsMax).nullish() };
const common = {
  name: displayName,
  workspaces,
  ratePerSecond: z.number().positive().max(100_000).nullish(),
  disabled: z.boolean().default(false),
};

/** Of a value that may be none of those that `events` takes. */
const proofsOf = (events: unknown) =>
  typeof events === 'string' && Object.hasOwn(PROOFS, events) ? PROOFS[events as keyof typeof PROOFS] : [];

const isObject = (value: unknown) => typeof value === 'object' && value !== null;

/** Members that belong together are compared beside the other findings, not after them, where both groups can be read. */
const BESIDE_OTHERS = {
  when: ({ value }: { value: unknown }) => {
    const { settings, secrets } = (value ?? {}) as { settings?: unknown; secrets?: unknown };
    return isObject(settings) && isObject(secrets);
  },
};

export const accountBody = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('http'), ...common, ...KINDS.http }),
  z
    .strictObject({ kind: z.literal('smtp'), ...common, ...KINDS.smtp })
    .superRefine(({ settings, secrets }, context) => {
      for (const [group, name] of proofsOf(settings.events)) {
        const value = (group === 'settings' ? settings : secrets) as Record<string, unknown>;
        if (value[name] !== undefined) continue;
        context.addIssue(finding('required', `Needed for events of ${settings.events}`, [group, name]));
      }
    }, BESIDE_OTHERS),
  z.strictObject({ kind: z.literal('smpp'), ...common, ...KINDS.smpp }),
  z.strictObject({ kind: z.literal('kannel'), ...common, ...KINDS.kannel }),
  z.strictObject({ kind: z.literal('simulator'), ...common, ...KINDS.simulator }),
  z
    .strictObject({ kind: z.literal('twilio'), ...common, ...calls, ...KINDS.twilio })
    .superRefine(({ settings, secrets }, context) => {
      if ((settings.apiKey === undefined) === (secrets.apiSecret === undefined)) return;
      const path = settings.apiKey === undefined ? ['settings', 'apiKey'] : ['secrets', 'apiSecret'];
      context.addIssue(finding('required', 'A key and its secret belong together', path));
    }, BESIDE_OTHERS),
  z.strictObject({ kind: z.literal('telnyx'), ...common, ...calls, ...KINDS.telnyx }),
  z.strictObject({ kind: z.literal('vonage'), ...common, ...calls, ...KINDS.vonage }),
]);

const anything = z.record(z.string().max(64), z.json().nullable());

/**
 * Members of `settings` and `secrets` are changed one by one, and null takes one away. The resulting account
 * is checked like a new one.
 */
export const accountChange = z.strictObject({
  name: displayName.optional(),
  workspaces: workspaces.unwrap().optional(),
  ratePerSecond: common.ratePerSecond,
  ...calls,
  disabled: z.boolean().optional(),
  channels: channels.optional(),
  settings: anything.optional(),
  secrets: anything.optional(),
});

/** Which of an account's closed senders: one, those of a channel, or all. */
export const reopenBody = z.strictObject({
  channel: z.enum(CHANNELS).optional(),
  sender: z.string().trim().min(1).max(LIMITS.senderChars).optional(),
});

export type AccountInput = z.output<typeof accountBody>;
export type AccountChange = z.output<typeof accountChange>;

/** What the endpoints of accounts and routes answer (api.md 15). */
const account = z
  .strictObject({
    id,
    name: z.string(),
    kind: z.enum(ACCOUNT_KINDS),
    channels: z.array(z.enum(CHANNELS)),
    settings: z.record(z.string(), z.unknown()),
    secrets: z.array(z.string()).meta({ description: 'The names of those that are set.' }),
    workspaces: z.array(z.string()).meta({ description: '`*` for all.' }),
    ratePerSecond: z.number().optional(),
    maxConcurrentCalls: z.int().optional().meta({
      description: 'Calls at once, in all processes together; for `twilio`, `telnyx` and `vonage`.',
    }),
    disabled: z.boolean(),
    source: z.enum(['api', 'environment']),
    state: z
      .enum(['ok', 'paused', 'throttled'])
      .meta({ description: '`paused`: the carrier refuses the account, or it could not be opened.' }),
    reason: z.string().optional(),
    since: time,
    nextTryAt: time.optional(),
    closedSenders: z
      .array(
        z.strictObject({
          channel: z.enum(CHANNELS),
          sender: z.string(),
          code: z.string(),
          message: z.string(),
          since: time,
        }),
      )
      .meta({
        description:
          'Senders that the carrier refuses at this account, such as a number that is not registered there. Nothing of them is handed over by it until `POST …/reopen`.',
      }),
  })
  .meta({ id: 'Account' });

export const accounts = success(z.array(account));
export const oneAccount = success(account);
export const deletedAccount = success(z.strictObject({ id }));
export const checkedAccount = success(z.strictObject({ ok: z.boolean(), detail: z.string() }));
