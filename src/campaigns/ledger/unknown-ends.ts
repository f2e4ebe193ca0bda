import { type RawBuilder, sql } from 'kysely';
import { ANSWER_LOST } from '../../domain/errors';
import type { RecipientState } from '../../domain/recipient';

/** SQL over a recipient `r`: an earlier message of theirs may have arrived, because its answer was lost. */
const hasDoubts = sql<boolean>`coalesce(cardinality(r.doubts), 0) > 0`;

/** SQL: the answer to their present message was lost, and an idempotent service is asked for it again. */
const isAskedAgain = sql<boolean>`r.code is not distinct from ${ANSWER_LOST}`;

/** SQL: the state of a recipient who is not sent to again because their run is canceled. Without doubts, the service is asked. */
export const afterCancel = sql<RecipientState>`case when ${hasDoubts} then 'unknown' when ${isAskedAgain} then 'accepted' else 'canceled' end`;

/** SQL: the same once the service has said that it does not have their present message. */
export const afterAbsence = sql<RecipientState>`case when ${hasDoubts} then 'unknown' else 'canceled' end`;

/** SQL: the state of a recipient whose time is over. */
export const afterExpiry = sql<RecipientState>`case when ${hasDoubts} or ${isAskedAgain} then 'unknown' else 'expired' end`;

/** SQL for the change of `code` beside these. */
export const codeOfDoubt = (otherwise: RawBuilder<unknown>) =>
  sql`case when result.state = 'unknown' then ${ANSWER_LOST} else ${otherwise} end`;
