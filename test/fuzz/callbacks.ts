import { createHash, createHmac, generateKeyPairSync, sign } from 'node:crypto';
import fc from 'fast-check';
import { readTelnyxCallback } from '../../src/providers/telnyx/telnyx-callback';
import { readTwilioCallback } from '../../src/providers/twilio/twilio-callback';
import type { Callback, CallbackAccount, CallbackReading } from '../../src/providers/vendor/vendor';
import { readVonageCallback } from '../../src/providers/vonage/vonage';
import { mutated } from './mutated';

interface SignedCallback {
  read(callback: Callback, account: CallbackAccount): CallbackReading;
  callback: Callback;
  account: CallbackAccount;
}

const URL_GIVEN = 'https://fanfare.example/callbacks/1?m=msg_1';
const SECRET = 'a secret of thirty-two characters';
const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const account = {
  settings: { publicKey: publicKey.export({ type: 'spki', format: 'der' }).subarray(-32).toString('base64') },
  secrets: [{ authToken: SECRET, signatureSecret: SECRET, webhookPassword: SECRET }],
} as unknown as CallbackAccount;

const callbackOf = (body: Buffer, headers: Record<string, string>): Callback => ({
  ...{ method: 'POST', url: URL_GIVEN, query: new URL(URL_GIVEN).searchParams, headers, body },
});

const JSON_BODIES = [
  '{"data":{"event_type":"message.finalized","occurred_at":"2026-11-24T10:15:00Z","payload":{"id":"1","to":[{"status":"delivered"}]}}}',
  '{"data":{"event_type":"message.received","payload":{"id":"1","text":"STOP","from":{"phone_number":"+12025550143"},"to":[]}}}',
  '{"message_uuid":"1","status":"rejected","timestamp":"2026-11-24T10:15:00Z","error":{"title":1240}}',
  '{"message_uuid":"1","from":"12025550143","to":"12025550100","text":"STOP","channel":"sms"}',
];
const FORMS = [
  'MessageSid=SM1&MessageStatus=delivered&ErrorCode=30003',
  'MessageSid=SM1&SmsStatus=received&From=%2B12025550143&To=%2B12025550100&Body=STOP',
  'CallSid=CA1&CallStatus=in-progress&AnsweredBy=machine_end_beep&Digits=1%23&Timestamp=Tue%2C+24+Nov+2026',
];

const telnyx = mutated(JSON_BODIES).map((body): SignedCallback => {
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const signature = sign(null, Buffer.concat([Buffer.from(`${timestamp}|`), body]), privateKey).toString(
    'base64',
  );
  const headers = { 'telnyx-timestamp': timestamp, 'telnyx-signature-ed25519': signature };
  return { read: readTelnyxCallback, callback: callbackOf(body, headers), account };
});

const vonage = mutated(JSON_BODIES).map((body): SignedCallback => {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const iat = Math.floor(Date.now() / 1_000);
  const hash = createHash('sha256').update(body).digest('hex');
  const said = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ iss: 'Vonage', iat, payload_hash: hash })}`;
  const authorization = `Bearer ${said}.${createHmac('sha256', SECRET).update(said).digest('base64url')}`;
  return { read: readVonageCallback, callback: callbackOf(body, { authorization }), account };
});

const twilio = mutated(FORMS).map((bytes): SignedCallback => {
  // A subaccount's own id is compared too; it is not what is looked at here.
  const body = Buffer.from(bytes.toString('utf8').replace(/AccountSid/gi, ''));
  const values = new Map<string, Set<string>>();
  for (const [name, value] of new URLSearchParams(body.toString('utf8')))
    values.set(name, (values.get(name) ?? new Set()).add(value));
  const fields = [...values.keys()]
    .sort()
    .flatMap((name) => [...(values.get(name) ?? [])].sort().map((one) => name + one));
  const signature = createHmac('sha1', SECRET)
    .update(URL_GIVEN + fields.join(''))
    .digest('base64');
  const headers = { 'content-type': 'application/x-www-form-urlencoded', 'x-twilio-signature': signature };
  return { read: readTwilioCallback, callback: callbackOf(body, headers), account };
});

export const signedCallbacks = fc.oneof(telnyx, vonage, twilio);

const HEADERS = [
  ...['authorization', 'content-type', 'x-amz-sns-message-type', 'x-twilio-email-event-webhook-signature'],
  'x-twilio-email-event-webhook-timestamp',
];
const EVENTS = [
  '[{"event":"bounce","email":"a@b.example","fanfare":"msg_1","timestamp":1700000000,"status":"5.1.1"}]',
  '{"signature":{"timestamp":"1700000000","token":"t","signature":"s"},"event-data":{"event":"failed","user-variables":{}}}',
  '{"RecordType":"Bounce","MessageID":"1","Metadata":{"fanfare":"msg_1"},"TypeCode":1}',
  '{"Type":"Notification","TopicArn":"arn:aws:sns:a:1:b","Message":"{}","SignatureVersion":"2","SigningCertURL":"https://sns.a.amazonaws.com/a.pem"}',
];

export const unsignedCallbacks = fc
  .tuple(
    mutated(EVENTS),
    fc.dictionary(fc.constantFrom(...HEADERS), fc.string({ maxLength: 80 }), { maxKeys: 4 }),
  )
  .map(([body, headers]) => ({ callback: callbackOf(body, { ...headers }), account }));
