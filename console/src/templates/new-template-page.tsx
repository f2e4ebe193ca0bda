import { getRouteApi } from '@tanstack/react-router';
import { Page } from '../design/page';
import { fill } from '../format';
import { TEXTS } from '../texts';
import { TemplateEditor } from './template-editor';

const route = getRouteApi('/signed-in/templates/new/$channel');

export function NewTemplatePage() {
  const { channel } = route.useParams();
  return (
    <Page title={fill(TEXTS.templates.newOf, { channel: TEXTS.channels[channel] })}>
      <TemplateEditor key={channel} channel={channel} />
    </Page>
  );
}
