import type { OutgoingMessage } from '../../../src/messaging/model/outgoing';
import type { MessagingTables } from '../../../src/messaging/model/tables';
import { render } from '../../../src/messaging/outbox/deliver/render';
import { createTemplateVersions } from '../../../src/messaging/templates/template-versions';
import { createTemplates } from '../../../src/messaging/templates/templates';
import { newId } from '../../../src/storage/new-id';
import { describeWithDatabase } from '../../support/storage';

const FLOW = {
  nodes: [
    {
      id: 'a',
      type: 'text',
      data: { isStart: true, isEndNode: true, text: 'Hi {{NAME}}', note: '{{ONLY_HERE}}' },
      future: 1,
    },
  ],
  edges: [],
  viewport: { x: 0, y: 0, zoom: 1 },
};

describeWithDatabase('a call that is handed over', (database) => {
  test('has its document and its flow, each filled for where the values stand', async () => {
    const db = (await database.open()).tables<MessagingTables>();
    const versions = createTemplateVersions(db);
    const workspaceId = newId('ws');
    const content = { name: 'call', subject: null, body: '', emailProviderId: '', design: FLOW };
    const { id } = await createTemplates({ db, versions }).create(workspaceId, 'voice', content);

    const template = await versions.get(workspaceId, id);
    expect(template?.placeholders).toEqual(['NAME']);
    const params = { NAME: `<Hangup/> & "Ada" 'x' ]]> --> \u0001\r` };
    const message = {
      id: 'm',
      uid: 'u',
      channel: 'voice',
      to: '+1',
      from: '+2',
      attempt: 0,
      params,
      voice: { machine: 'hangup' },
    };
    const handOver = render(message as unknown as OutgoingMessage, template);
    expect(handOver.xml).toBe(
      '<Response>\n  <Answer/>\n  <Say>Hi &lt;Hangup/&gt; &amp; &quot;Ada&quot; &#39;x&#39; ]]&gt; --&gt; &#13;</Say>\n  <Hangup/>\n</Response>',
    );
    expect(handOver.voice).toEqual({ machine: 'hangup' });
    const [node] = FLOW.nodes;
    expect(handOver.flow).toEqual({
      ...FLOW,
      nodes: [{ ...node, data: { ...node?.data, text: `Hi ${params.NAME}`, note: '' } }],
    });
  });

  test('of an email has neither, and its layout is not read', async () => {
    const db = (await database.open()).tables<MessagingTables>();
    const versions = createTemplateVersions(db);
    const workspaceId = newId('ws');
    const content = {
      name: 'mail',
      subject: 'S',
      body: '<p>{{NAME}}</p>',
      emailProviderId: '',
      design: FLOW,
    };
    const { id } = await createTemplates({ db, versions }).create(workspaceId, 'email', content);
    expect((await versions.get(workspaceId, id))?.flow).toBeUndefined();
  });
});
