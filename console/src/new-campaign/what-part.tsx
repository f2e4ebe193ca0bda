import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { findingAt } from '../api/findings';
import { isProblem } from '../api/problem';
import { CHANNELS } from '../campaigns/campaign-words';
import { Button } from '../design/button';
import { Choice, Field, Select } from '../design/field';
import { ErrorState } from '../design/states';
import { useSettled } from '../design/use-settled';
import { fill } from '../format';
import { TEXTS } from '../texts';
import type { ChannelName, Draft } from './draft';
import { templateQuery, templatesQuery } from './new-campaign-queries';
import { TemplatePreview } from './template-preview';

const { newCampaign, channels } = TEXTS;
const texts = newCampaign.what;

interface PartProps {
  draft: Draft;
  change(changed: Partial<Draft>): void;
  /** What the last press was refused for. */
  error: unknown;
}

export function WhatPart({ draft, change, error }: PartProps) {
  const toggle = (channel: ChannelName, isChosen: boolean) =>
    change({
      channels: CHANNELS.filter((one) => (one === channel ? isChosen : draft.channels.includes(one))),
    });
  return (
    <fieldset className="group">
      <legend>
        <h2>{texts.title}</h2>
      </legend>
      <div className="row">
        {CHANNELS.map((channel) => (
          <Choice
            key={channel}
            label={channels[channel]}
            checked={draft.channels.includes(channel)}
            onChange={({ target }) => toggle(channel, target.checked)}
          />
        ))}
      </div>
      {draft.channels.map((channel) => (
        <ChannelPart key={channel} channel={channel} draft={draft} change={change} error={error} />
      ))}
      {draft.channels.length > 1 && (
        <div className="columns">
          <Select
            label={texts.strategy}
            value={draft.strategy}
            onChange={({ target }) => change({ strategy: target.value as Draft['strategy'] })}
          >
            <option value="broadcast">{texts.broadcast}</option>
            <option value="fallback">{texts.fallback}</option>
          </Select>
          {draft.strategy === 'fallback' && (
            <Field
              label={texts.fallbackAfter}
              type="number"
              min="1"
              value={draft.fallbackMinutes}
              onChange={({ target }) => change({ fallbackMinutes: target.value })}
            />
          )}
        </div>
      )}
      <Select
        label={texts.class}
        hint={texts.classHint}
        value={draft.class}
        onChange={({ target }) => change({ class: target.value as Draft['class'] })}
      >
        <option value="marketing">{texts.marketing}</option>
        <option value="transactional">{texts.transactional}</option>
      </Select>
    </fieldset>
  );
}

/** Those that are found, and the chosen one, which stays to be seen whatever is searched for. */
function useTemplates(channel: ChannelName, search: string, chosenId: string) {
  const found = useQuery(templatesQuery(channel, search));
  const shown = found.data ?? [];
  const isAmong = shown.some(({ id }) => id === chosenId);
  const { data: chosen, error } = useQuery(templateQuery(isAmong ? '' : chosenId));
  // A deleted one is still sent, because campaigns keep the version that they name.
  const isDeleted = chosenId !== '' && !isAmong && isProblem(error, 404);
  return { found, options: chosen && !isAmong && !isDeleted ? [chosen, ...shown] : shown, isDeleted };
}

/** The member of its settings in which the API has the sender. */
const SENDERS = { email: 'fromEmail', sms: 'shortCode', voice: 'callerId' } as const;

function ChannelPart({ channel, draft, change, error }: PartProps & { channel: ChannelName }) {
  const [typed, setTyped] = useState('');
  const search = useSettled(typed.trim());
  const message = draft[channel];
  const { found, options, isDeleted } = useTemplates(channel, search, message.templateId);
  const choose = (templateId: string) => {
    const version = options.find(({ id }) => id === templateId)?.version ?? 0;
    change({ [channel]: { ...message, templateId, version } });
  };
  const refused = findingAt(error, `settings.${channel}.templateId`);
  const wrongTemplate = refused && message.templateId === '' ? texts.choose : refused;
  const isNone = found.data?.length === 0;
  // A campaign keeps the version that was chosen, whatever is saved of the template since.
  const newest = options.find(({ id }) => id === message.templateId)?.version ?? message.version;
  return (
    <section className="card stack" aria-label={channels[channel]}>
      <h3>{channels[channel]}</h3>
      <div className="columns">
        <Field
          label={texts.senders[channel]}
          hint={texts.senderHints[channel]}
          wrong={findingAt(error, `settings.${channel}.${SENDERS[channel]}`)}
          value={message.sender}
          autoComplete="off"
          onChange={({ target }) => change({ [channel]: { ...message, sender: target.value } })}
        />
        <Field
          label={fill(texts.searchTemplates, { channel: channels[channel] })}
          type="search"
          maxLength={200}
          value={typed}
          // Enter would make a dry run.
          onKeyDown={(event) => event.key === 'Enter' && event.preventDefault()}
          onChange={({ target }) => setTyped(target.value)}
        />
        <Select
          label={fill(texts.template, { channel: channels[channel] })}
          hint={isNone ? (search === '' ? texts.noTemplates : texts.noTemplate) : undefined}
          wrong={isDeleted ? texts.deleted : wrongTemplate}
          value={message.templateId}
          onChange={({ target }) => choose(target.value)}
        >
          <option value="">{texts.choose}</option>
          {isDeleted && (
            <option value={message.templateId}>
              {fill(texts.deletedOption, { version: String(message.version) })}
            </option>
          )}
          {options.map(({ id, templateName, version }) => (
            <option key={id} value={id}>
              {fill(texts.option, {
                name: templateName,
                version: String(id === message.templateId ? message.version : version),
              })}
            </option>
          ))}
        </Select>
      </div>
      {newest > message.version && (
        <div className="row">
          <span>{fill(texts.newer, { version: String(newest) })}</span>
          <Button small onClick={() => choose(message.templateId)}>
            {fill(texts.takeNewer, { version: String(newest) })}
          </Button>
        </div>
      )}
      {found.error && <ErrorState error={found.error} onRetry={() => found.refetch()} />}
      <TemplatePreview draft={draft} channel={channel} />
    </section>
  );
}
