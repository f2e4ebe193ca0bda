import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { FormEvent } from 'react';
import { call } from '../api/client';
import { Button } from '../design/button';
import { Choice, Field } from '../design/field';
import { ErrorState, Skeleton } from '../design/states';
import { Time } from '../design/time';
import { useToast } from '../design/toast';
import { formatNumber } from '../format';
import { Allowed } from '../shell/allowed';
import { TEXTS } from '../texts';
import { campaignQuery, type Detail } from './campaign-queries';
import { isOver } from './campaign-words';
import { ListLink, TemplateLink } from './content-links';
import { ScheduleLines } from './schedule-lines';

const { campaign, channels, newCampaign } = TEXTS;
const texts = campaign.settings;
const { what } = newCampaign;
const route = getRouteApi('/signed-in/campaigns/$id/settings');

export function SettingsPart() {
  const { id } = route.useParams();
  const { data, error, refetch } = useQuery(campaignQuery(id));
  if (!data) return error ? <ErrorState error={error} onRetry={() => void refetch()} /> : <Skeleton />;
  return (
    <div className="stack">
      <Allowed from="editor" label={texts.save}>
        <Labels campaign={data} />
      </Allowed>
      <Facts campaign={data} />
      <details>
        <summary>{texts.all}</summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard */}
        <pre className="raw" tabIndex={0}>
          {JSON.stringify(data, null, 2)}
        </pre>
      </details>
    </div>
  );
}

function Labels({ campaign: { id, name, tags = [], archived = false, phase } }: { campaign: Detail }) {
  const queries = useQueryClient();
  const say = useToast();
  const save = useMutation({
    // Only what was changed here, so that what another person has changed meanwhile stays.
    mutationFn: async (body: { name?: string; tags?: string[]; archived?: boolean }) => {
      if (Object.keys(body).length === 0) return;
      await call<{ url: '/api/campaign/{id}'; path: { id: string }; body: typeof body }, unknown>(
        'PATCH',
        '/api/campaign/{id}',
        { path: { id }, body },
      );
    },
    onSuccess: async () => {
      say(texts.saved);
      await queries.invalidateQueries({ queryKey: campaignQuery(id).queryKey });
      await queries.invalidateQueries({ queryKey: ['campaigns'] });
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const typed = {
      name: String(form.get('name')),
      tags: String(form.get('tags'))
        .split(',')
        .map((tag) => tag.trim())
        .filter(Boolean),
      archived: form.get('archived') === 'on',
    };
    save.mutate({
      ...(typed.name !== name && { name: typed.name }),
      ...(typed.tags.join() !== tags.join() && { tags: typed.tags }),
      ...(typed.archived !== archived && { archived: typed.archived }),
    });
  };
  return (
    <form className="card stack" onSubmit={submit}>
      <div className="columns">
        <Field label={texts.name} name="name" defaultValue={name} required maxLength={200} />
        <Field label={texts.tags} name="tags" hint={texts.tagsHint} defaultValue={tags.join(', ')} />
      </div>
      {(isOver(phase) || archived) && (
        <Choice label={texts.archived} name="archived" defaultChecked={archived} />
      )}
      {save.error && <ErrorState error={save.error} />}
      <div>
        <Button type="submit" busy={save.isPending}>
          {texts.save}
        </Button>
      </div>
    </form>
  );
}

function Facts({ campaign: one }: { campaign: Detail }) {
  return (
    <section className="card stack" aria-labelledby="settings">
      <h2 id="settings">{texts.title}</h2>
      <dl className="facts">
        {one.channel.map((channel) => (
          <Setting key={channel} channel={channel} setting={one.settings[channel]} />
        ))}
        {one.channel.length > 1 && (
          <>
            <dt>{what.strategy}</dt>
            <dd>{one.strategy === 'fallback' ? what.fallback : what.broadcast}</dd>
          </>
        )}
        <dt>{texts.lists}</dt>
        <dd>
          {one.contactListId.length === 0 ? (
            TEXTS.common.none
          ) : (
            <ul className="plain">
              {one.contactListId.map((id) => (
                <li key={id}>
                  <ListLink id={id} />
                </li>
              ))}
            </ul>
          )}
        </dd>
        <dt>{texts.own}</dt>
        <dd>{formatNumber(one.inline)}</dd>
        <dt>{texts.class}</dt>
        <dd>{one.class ?? 'marketing'}</dd>
        {one.schedule && (
          <>
            <dt>{texts.schedule}</dt>
            <dd>
              <ScheduleLines schedule={one.schedule} />
            </dd>
          </>
        )}
        {one.delivery?.quietHours && (
          <>
            <dt>{texts.quietHours}</dt>
            <dd>
              {one.delivery.quietHours.from}–{one.delivery.quietHours.to}{' '}
              {one.delivery.quietHours.timezone ?? 'recipient'}
            </dd>
          </>
        )}
        {one.approval && (
          <>
            <dt>{texts.approved}</dt>
            <dd>
              <Time at={one.approval.at} /> <code>{one.approval.by}</code>
            </dd>
          </>
        )}
        <dt>{texts.by}</dt>
        <dd className="mono">{one.createdBy ?? TEXTS.common.none}</dd>
        <dt>{texts.id}</dt>
        <dd className="mono">{one.id}</dd>
        <dt>{texts.workflow}</dt>
        <dd className="mono">{one.workflowId ?? TEXTS.common.none}</dd>
      </dl>
    </section>
  );
}

type Settings = Detail['settings'];

function Setting({
  channel,
  setting,
}: {
  channel: keyof typeof channels;
  setting: Settings[keyof Settings];
}) {
  if (!setting) return null;
  const sender =
    'fromEmail' in setting
      ? setting.fromEmail
      : 'shortCode' in setting
        ? setting.shortCode
        : setting.callerId;
  return (
    <>
      <dt>{channels[channel]}</dt>
      <dd>
        {texts.sender} <strong>{sender}</strong>, {texts.template} <TemplateLink id={setting.templateId} />,{' '}
        {texts.version} {setting.version}
      </dd>
    </>
  );
}
