import { Readable } from 'node:stream';
import type { ContactExport } from '../../campaigns/contacts/contact-export';
import type { Contacts } from '../../campaigns/contacts/contacts-api';
import { answer, idParams } from '../../contracts/common';
import { contactChangeBody, contactSearchQuery } from '../../contracts/contacts';
import { callerOf } from '../caller';
import { changeContact, exportContact, findContacts, readContact } from '../operations/contacts';
import type { App } from '../routing';
import { seesAddresses } from '../viewers';
import { fileNameOf } from './campaign-reports';
import { presentEntry } from './policy';

const config = { auth: 'app' } as const;

/** A workspace's contacts, whatever lists they are in (api.md 16). */
export function contactRoutes(app: App, { contacts }: { contacts: Contacts }): void {
  const finding = { operation: findContacts, querystring: contactSearchQuery };
  app.get('/api/contact', { config, schema: finding }, async (request) => {
    const page = { ...request.query, hidesAddresses: !seesAddresses(request) };
    const { contacts: found, next } = await contacts.find(callerOf(request).workspaceId, page);
    return { ...answer(200, 'Contacts', found), next };
  });

  const reading = { operation: readContact, params: idParams };
  app.get('/api/contact/:id', { config, schema: reading }, async (request) => {
    const key = { workspaceId: callerOf(request).workspaceId, contactId: request.params.id };
    return answer(200, 'Contact', await contacts.read(key));
  });

  const changing = { operation: changeContact, params: idParams, body: contactChangeBody };
  app.patch('/api/contact/:id', { config, schema: changing }, async (request) => {
    const key = { workspaceId: callerOf(request).workspaceId, contactId: request.params.id };
    return answer(200, 'Contact updated', await contacts.change(key, request.body));
  });

  const exporting = { operation: exportContact, params: idParams };
  // Without HEAD: it would read everything to show none of it.
  app.get(
    '/api/contact/:id/export',
    { config, schema: exporting, exposeHeadRoute: false },
    async (request, reply) => {
      const { id } = request.params;
      const found = await contacts.export({ workspaceId: callerOf(request).workspaceId, contactId: id });
      return reply
        .type('application/json; charset=utf-8')
        .header('content-disposition', `attachment; filename="contact-${fileNameOf(id)}.json"`)
        .send(Readable.from(asJson(found), { objectMode: false }));
    },
  );
}

/** As any other answer, written as its entries are read. */
async function* asJson({ contact, lists, pages }: ContactExport): AsyncGenerator<string> {
  const whole = JSON.stringify(
    answer(200, 'All that is known of the contact', { contact, lists, entries: [] }),
  );
  const end = ']}}';
  yield whole.slice(0, -end.length);
  let separator = '';
  for await (const page of pages) {
    yield separator + page.map((entry) => JSON.stringify(presentEntry(entry))).join(',');
    separator = ',';
  }
  yield end;
}
