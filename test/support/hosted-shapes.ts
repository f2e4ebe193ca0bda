/** A message as messaging-service.md has it. */
export interface HostedMessage {
  channel: 'email' | 'sms' | 'voice';
  uid: string;
  to: string;
  from: string;
  'template-id': string;
  params: Record<string, string | number>;
  body?: string;
}

export interface HostedTemplate {
  id: string;
  templateName: string;
  channel: 'email' | 'sms' | 'voice';
  createdAt: string;
  /** The list shows it for sms only. */
  body: string;
  subject?: string;
  voiceJson?: object;
}

/** A template as the list shows it. */
export function listed({ body, subject, voiceJson, ...common }: HostedTemplate): object {
  if (common.channel === 'sms') return { ...common, body };
  return common.channel === 'email' ? { ...common, subject } : { ...common, voiceJson };
}

/** What is wrong with a body by the specification, or by the template that it names. */
export function checkMessage(body: unknown, templates: readonly HostedTemplate[]): string | undefined {
  if (typeof body !== 'object' || body === null) return 'no JSON object';
  const message = body as HostedMessage;
  const strange = Object.keys(message).filter((name) => !FIELDS.has(name));
  if (strange.length) return `fields ${strange.join(', ')}`;
  const { channel, uid, to, from, params } = message;
  if (channel !== 'email' && message.body !== undefined) return `a body on ${channel}`;
  for (const text of [channel, uid, to, from, message['template-id']]) {
    if (typeof text !== 'string' || text === '') return 'a field is missing or no text';
  }
  const address = channel === 'email' ? /^[^@\s]+@[^@\s]+$/ : /^\+[0-9]{7,15}$/;
  if (!address.test(to)) return `no ${channel} address`;
  const template = templates.find((one) => one.id === message['template-id'] && one.channel === channel);
  if (!template) return `no ${channel} template of that id`;
  for (const [name, value] of Object.entries(params ?? {})) {
    if (!/^[A-Z][A-Z0-9_]*$/.test(name)) return `a param named ${name}`;
    if (typeof value !== 'string' && typeof value !== 'number') return `param ${name} is no text or number`;
  }
  const texts = `${template.subject ?? ''} ${template.body} ${JSON.stringify(template.voiceJson ?? {})}`;
  const asked = [...texts.matchAll(/\{\{([A-Z0-9_]+)\}\}/g)].map((match) => match[1] as string);
  const missing = asked.find((name) => params?.[name] === undefined);
  return missing && `no value for ${missing}`;
}

const FIELDS = new Set(['channel', 'uid', 'to', 'from', 'template-id', 'params', 'body']);
