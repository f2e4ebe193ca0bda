import { useState } from 'react';
import { Field, Select } from '../design/field';
import { SearchField } from '../design/search-field';
import { TEXTS } from '../texts';
import { CHANNELS } from './campaign-words';
import type { CampaignFilter } from './campaigns-query';

const { campaigns: texts, channels } = TEXTS;

interface FiltersProps {
  filter: CampaignFilter;
  onChange(changed: Partial<CampaignFilter>): void;
}

/** What is asked for most stands in one line; the rest opens below it, so that the list is seen on a phone too. */
export function Filters({ filter, onChange }: FiltersProps) {
  return (
    <search className="stack tight">
      <div className="filters">
        <SearchField
          value={filter.search ?? ''}
          onSearch={(search) => onChange({ search: search.trim() || undefined })}
        />
        <Select
          label={texts.channel}
          value={filter.channel ?? ''}
          onChange={({ target }) =>
            onChange({ channel: (target.value || undefined) as CampaignFilter['channel'] })
          }
        >
          <option value="">{texts.allChannels}</option>
          {CHANNELS.map((one) => (
            <option key={one} value={one}>
              {channels[one]}
            </option>
          ))}
        </Select>
        <Select
          label={texts.status}
          value={filter.status ?? ''}
          onChange={({ target }) =>
            onChange({ status: (target.value || undefined) as CampaignFilter['status'] })
          }
        >
          <option value="">{texts.anyStatus}</option>
          {(['active', 'paused', 'completed'] as const).map((one) => (
            <option key={one} value={one}>
              {texts.statuses[one]}
            </option>
          ))}
        </Select>
        <Select
          label={texts.order}
          value={filter.order ?? 'newest'}
          onChange={({ target }) =>
            onChange({
              order: (target.value === 'newest' ? undefined : target.value) as CampaignFilter['order'],
            })
          }
        >
          {(['newest', 'oldest', 'name'] as const).map((one) => (
            <option key={one} value={one}>
              {texts.orders[one]}
            </option>
          ))}
        </Select>
      </div>
      <MoreFilters filter={filter} onChange={onChange} />
    </search>
  );
}

function MoreFilters({ filter, onChange }: FiltersProps) {
  const { from, to, tag, archived } = filter;
  // Open where one of them holds when the page is opened; from then on as the person leaves it.
  const [isOpen] = useState([from, to, tag, archived].some((one) => one !== undefined));
  return (
    <details open={isOpen}>
      <summary>{texts.moreFilters}</summary>
      <div className="filters">
        <Field
          label={texts.from}
          type="date"
          value={filter.from ?? ''}
          onChange={({ target }) => onChange({ from: target.value || undefined })}
        />
        <Field
          label={texts.to}
          type="date"
          value={filter.to ?? ''}
          onChange={({ target }) => onChange({ to: target.value || undefined })}
        />
        <Field
          label={texts.tag}
          value={filter.tag ?? ''}
          maxLength={40}
          onChange={({ target }) => onChange({ tag: target.value || undefined })}
        />
        <Select
          label={texts.archived}
          value={filter.archived ? 'yes' : ''}
          onChange={({ target }) => onChange({ archived: target.value === 'yes' || undefined })}
        >
          <option value="">{TEXTS.common.no}</option>
          <option value="yes">{TEXTS.common.yes}</option>
        </Select>
      </div>
    </details>
  );
}
