import { Time } from '../design/time';
import { fill } from '../format';
import { TEXTS } from '../texts';
import type { Detail } from './campaign-queries';

const { campaign, newCampaign } = TEXTS;
const texts = campaign.settings;

/** When a campaign goes, in the reader's own time; a recurring one by the clocks that it names. */
export function ScheduleLines({ schedule }: { schedule: NonNullable<Detail['schedule']> }) {
  // The API takes UTC where a schedule names no zone.
  const { cron, startAt, endAt, timezone = 'UTC', recipientLocal } = schedule;
  return (
    <ul className="plain">
      {cron && <li>{fill(texts.cron, { cron, zone: timezone })}</li>}
      {startAt && (
        <li>
          {cron ? texts.notBefore : campaign.starts} <Time at={startAt} />
        </li>
      )}
      {endAt && (
        <li>
          {texts.until} <Time at={endAt} />
        </li>
      )}
      {recipientLocal && <li>{newCampaign.timing.recipientLocal}</li>}
    </ul>
  );
}
