import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { call } from '../api/client';
import type { ArchiveTemplateData, ReadTemplateData, ReadTemplateResponse } from '../api/types.gen';
import { Button } from '../design/button';
import { Confirm } from '../design/confirm';
import { Loaded } from '../design/loaded';
import { Page } from '../design/page';
import { Tabs } from '../design/tabs';
import { useToast } from '../design/toast';
import { fill } from '../format';
import { Allowed } from '../shell/allowed';
import { TEXTS } from '../texts';
import { TemplateEditor } from './template-editor';
import { TestSend } from './test-send';
import { Versions } from './versions';

const { templates: texts } = TEXTS;
const route = getRouteApi('/signed-in/templates/$templateId');

/** One template: its editor, its versions, and a test of what is saved. */
export function TemplatePage() {
  const { templateId } = route.useParams();
  const { view = 'edit' } = route.useSearch();
  const navigate = route.useNavigate();
  const [isArchiving, setArchiving] = useState(false);
  const template = useQuery({
    queryKey: ['template', templateId],
    queryFn: ({ signal }) =>
      call<ReadTemplateData, ReadTemplateResponse>('GET', '/api/template/{id}', {
        path: { id: templateId },
        signal,
      }).then(({ data }) => data),
  });
  return (
    <Page
      title={template.data?.templateName ?? texts.template}
      lead={
        template.data &&
        fill(texts.leadOf, { channel: TEXTS.channels[template.data.channel], version: template.data.version })
      }
      actions={
        <Allowed from="editor" label={texts.archive}>
          <Button kind="danger" onClick={() => setArchiving(true)}>
            {texts.archive}
          </Button>
        </Allowed>
      }
    >
      <Loaded query={template} lines={8}>
        {(known) => (
          <Tabs
            label={texts.template}
            tabs={[
              { key: 'edit', label: TEXTS.common.edit },
              { key: 'test', label: texts.test },
              { key: 'versions', label: texts.versions },
            ]}
            chosen={view}
            onChoose={(chosen) =>
              void navigate({ search: chosen === 'edit' ? {} : { view: chosen }, replace: true })
            }
          >
            {view === 'edit' && <TemplateEditor key={known.id} channel={known.channel} template={known} />}
            {view === 'test' && (
              <Allowed from="editor" label={texts.test}>
                <TestSend template={known} />
              </Allowed>
            )}
            {view === 'versions' && <Versions template={known} />}
          </Tabs>
        )}
      </Loaded>
      {isArchiving && template.data && (
        <Archive id={templateId} name={template.data.templateName} onClose={() => setArchiving(false)} />
      )}
    </Page>
  );
}

function Archive({ id, name, onClose }: { id: string; name: string; onClose(): void }) {
  const queries = useQueryClient();
  const navigate = route.useNavigate();
  const say = useToast();
  const archive = useMutation({
    mutationFn: () => call<ArchiveTemplateData, unknown>('DELETE', '/api/template/{id}', { path: { id } }),
    onSuccess: async () => {
      say(fill(texts.archived, { name }));
      await queries.invalidateQueries({ queryKey: ['templates'] });
      await navigate({ to: '/templates', search: {} });
    },
  });
  return (
    <Confirm
      danger
      title={fill(texts.archiveTitle, { name })}
      confirm={texts.archive}
      busy={archive.isPending}
      error={archive.error}
      onConfirm={() => archive.mutate()}
      onClose={onClose}
    >
      <p>{texts.archiveText}</p>
    </Confirm>
  );
}
