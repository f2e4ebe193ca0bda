import { LIMITS } from '../../domain/limits';

/**
 * Where an audience is cut into shards, in numbers of contacts. Contacts are counted, because the number of
 * recipients is known only when all are judged. The first shards are small, because a shard is sent as soon as
 * it is filled. The rest is divided evenly.
 */
export function shardEnds(contacts: number, byHours: boolean): number[] {
  const most = byHours ? LIMITS.shardsPerChannelByHours : LIMITS.shardsPerChannel;
  const fewest = contacts > 2 * LIMITS.firstShardContacts ? 2 : 1;
  const shards = Math.max(fewest, Math.min(most, Math.ceil(contacts / LIMITS.recipientsPerShard)));
  const ends: number[] = [];
  let end = 0;
  for (let growing = LIMITS.firstShardContacts; ends.length < shards; growing *= 2) {
    const even = Math.ceil((contacts - end) / (shards - ends.length));
    const isLast = ends.length === shards - 1;
    end += isLast ? even : Math.min(growing, even);
    ends.push(end);
  }
  return ends;
}
