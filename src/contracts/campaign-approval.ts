import { z } from 'zod';
import { LIMITS } from '../domain/limits';
import { additions } from './campaign-additions';
import { instants } from './campaigns';
import { forecast } from './dry-run';
import { channel, count, id, perChannel, success } from './envelope';
import { warnings } from './problem';

/**
 * Body of `POST /api/campaign/{id}/approve`: the digest that `GET …/digest` showed to the person who
 * approves.
 */
export const approveBody = z.strictObject({ digest: z.string().min(1).max(LIMITS.digestChars) });

export const campaignDigest = success(
  z
    .strictObject({
      digest: z
        .string()
        .meta({ description: 'Of what is sent, how and to whom; `POST …/approve` takes it.' }),
      contacts: count.meta({ description: 'Of the lists and the own audience, each once.' }),
      recipients: count.meta({ description: 'On all channels together, as a dry run counts them.' }),
      channels: perChannel(forecast),
      templates: z.array(
        z.strictObject({ channel, templateId: id, version: z.int().min(1), name: z.string() }),
      ),
      schedule: additions.schedule.unwrap().extend(instants).nullable(),
      estimate: z.strictObject({
        durationSeconds: count.nullable().meta({ description: 'As a dry run’s.' }),
        warnings,
      }),
    })
    .meta({ id: 'CampaignDigest' }),
);
