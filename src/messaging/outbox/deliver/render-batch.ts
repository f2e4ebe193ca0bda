import { LIMITS } from '../../../domain/limits';
import type { HandOver } from '../../../providers/provider';
import type { AttemptResult } from '../../model/attempt-result';
import type { OutgoingMessage } from '../../model/outgoing';
import type { CompiledTemplate, TemplateVersions } from '../../templates/template-versions';
import type { ListUnsubscribe } from './list-unsubscribe';
import { render } from './render';

export interface Rendered {
  message: OutgoingMessage;
  handOver: HandOver;
}

/**
 * As many messages as may be in memory rendered, the others as `rest`; templates can be large, and each
 * message holds its own copy. `failed` are those whose template is not there.
 */
export async function renderBatch(
  {
    templates,
    listUnsubscribe,
  }: { templates: TemplateVersions; listUnsubscribe?: ListUnsubscribe | undefined },
  messages: readonly OutgoingMessage[],
  charsMax: number = LIMITS.handoverChars,
): Promise<{ ready: Rendered[]; failed: AttemptResult[]; rest: readonly OutgoingMessage[] }> {
  const ready: Rendered[] = [];
  const failed: AttemptResult[] = [];
  let chars = 0;
  for (const [i, message] of messages.entries()) {
    if (chars > charsMax) return { ready, failed, rest: messages.slice(i) };
    const { workspaceId, templateId, templateVersion, attempt } = message;
    let template: CompiledTemplate | undefined;
    if (templateId !== undefined) {
      template =
        templates.known(workspaceId, templateId, templateVersion) ??
        (await templates.get(workspaceId, templateId, templateVersion));
    }
    if (templateId === undefined || template) {
      const handOver = render(message, template, listUnsubscribe);
      chars += (handOver.html?.length ?? 0) + (handOver.text?.length ?? 0) + (handOver.xml?.length ?? 0);
      if (handOver.flow) chars += template?.flow?.chars ?? 0;
      ready.push({ message, handOver });
    } else {
      failed.push({ message, state: 'failed', attempt, code: 'template_not_found' });
    }
  }
  return { ready, failed, rest: [] };
}
