import { vendorTlv } from './library';

/** Where an SMS centre is, and as whom to bind to it. */
export interface SmppEndpoint {
  host: string;
  port: number;
  tls: boolean;
  systemId: string;
  password: string;
  systemType: string;
  /** Certificates that are trusted in place of Node's own. */
  ca?: Buffer | undefined;
}

export type MessageIdForm = 'auto' | 'hex' | 'decimal';

const PORT = { 'smpp:': 2775, 'smpps:': 3550 } as const;

/** Reads one address, or several with commas between them that lead to the same SMS centre. */
export function readEndpoints(addresses: string): {
  endpoints: SmppEndpoint[];
  longAsPayload: boolean;
  sendsReference: boolean;
} {
  const urls = addresses.split(',').map((address) => new URL(address.trim()));
  const endpoints = urls.map((url) => ({
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port) || PORT[url.protocol as keyof typeof PORT],
    tls: url.protocol === 'smpps:',
    systemId: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    systemType: url.searchParams.get('system_type') ?? '',
  }));
  const has = (name: string, value: string) => urls.some((url) => url.searchParams.get(name) === value);
  return { endpoints, longAsPayload: has('long', 'payload'), sendsReference: !has('reference', 'none') };
}

/** Fields that every submit_sm carries, by the name that the library knows them by. */
export function tlvFields(tlvs: Record<string, string>): Record<string, Buffer> {
  return Object.fromEntries(
    Object.entries(tlvs).map(([tag, value]) => [vendorTlv(Number(tag)), Buffer.from(value, 'utf8')]),
  );
}
