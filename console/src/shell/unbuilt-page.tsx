import { Page } from '../design/page';
import { EmptyState } from '../design/states';
import { TEXTS } from '../texts';

/** A place of the menu that has no page yet. */
export function UnbuiltPage({ title }: { title: string }) {
  return (
    <Page title={title}>
      <EmptyState title={TEXTS.unbuilt.title} action={<a href="/docs">{TEXTS.unbuilt.link}</a>}>
        {TEXTS.unbuilt.text}
      </EmptyState>
    </Page>
  );
}
