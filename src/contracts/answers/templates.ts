import { z } from 'zod';
import { channel, count, id, ref, successToo, time } from './envelope';
import { warnings } from './problem';

/** What the template endpoints answer (messaging-service.md, List templates; api.md 5). */

/** The editors' own documents, kept as they came. */
const design = z.record(z.string(), z.unknown());

const common = {
  id,
  templateName: z.string(),
  version: z.int().min(1),
  createdAt: time,
  updatedAt: time,
};
const sms = z.literal('sms');
const email = z.literal('email');
const voice = z.literal('voice');

const smsTemplate = z.strictObject({ ...common, channel: sms, body: z.string() }).meta({ id: 'SmsTemplate' });

const listed = z.discriminatedUnion('channel', [
  smsTemplate,
  z.strictObject({ ...common, channel: email, subject: z.string() }).meta({ id: 'ListedEmailTemplate' }),
  z.strictObject({ ...common, channel: voice, voiceJson: design }).meta({ id: 'ListedVoiceTemplate' }),
]);

const whole = z.discriminatedUnion('channel', [
  smsTemplate,
  z
    .strictObject({
      ...common,
      channel: email,
      subject: z.string(),
      body: z.string(),
      text: z.string().nullable().meta({ description: 'The plain-text part.' }),
      emailProviderId: z.string(),
      template: design.nullable(),
    })
    .meta({ id: 'EmailTemplate' }),
  z.strictObject({ ...common, channel: voice, body: z.string(), voiceJson: design }).meta({
    id: 'VoiceTemplate',
  }),
]);

export const templateList = z.strictObject({
  success: z.literal(true),
  templates: z.array(listed),
  page: z.int().min(1),
  pageSize: z.int().min(1),
  total: count,
});

export const createdTemplate = z.strictObject({ success: z.literal(true), template: whole, warnings });

export const readTemplate = z.strictObject({
  ...successToo,
  data: whole,
  template: whole.meta({ description: 'The same as data.' }),
});

export const replacedTemplate = readTemplate.extend({ warnings });

export const archivedTemplate = z.strictObject({ ...successToo, data: ref });

export const templateVersions = z.strictObject({
  ...successToo,
  data: z.array(
    z
      .strictObject({
        version: z.int().min(1),
        createdAt: time,
        createdBy: z.string().nullable(),
        note: z.string().optional(),
      })
      .meta({ id: 'TemplateVersion' }),
  ),
});

const names = z.array(z.string());

export const templatePreviewed = z.strictObject({
  ...successToo,
  data: z
    .strictObject({
      templateId: id,
      channel,
      version: z.int().min(1),
      subject: z.string().optional(),
      html: z.string().optional(),
      text: z.string().optional().meta({ description: 'Of an SMS, or an email’s plain-text part.' }),
      segments: z.int().min(1).optional(),
      encoding: z.enum(['gsm7', 'ucs2']).optional(),
      xml: z.string().optional(),
      used: names.meta({ description: 'Every placeholder, in order of first appearance.' }),
      missing: names.meta({ description: 'Those without a value, left to be seen in the parts.' }),
      warnings,
    })
    .meta({ id: 'TemplatePreview' }),
});
