import Ajv2020 from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import type { OpenApiDocument } from '../../src/http/openapi/types';

type Find = (schema: Record<string, unknown> | undefined, value: unknown) => string[];

/** The document under a name of its own, so that its parts are validated and compiled once and not with each schema. */
const DOCUMENT = 'fanfare:document';

/**
 * Holds values against the schemas that the document shows, read as everybody else reads them: by a
 * validator of JSON Schema 2020-12 that knows nothing of zod. Answers what is wrong, one line each.
 */
export function schemasOf(document: OpenApiDocument): Find {
  const ajv = new Ajv2020({ allErrors: true, strict: true, strictTypes: false });
  addFormats(ajv);
  ajv.addVocabulary(['components']);
  ajv.addSchema({ $id: DOCUMENT, components: { schemas: document.components.schemas } });
  const compiled = new Map<string, ReturnType<typeof ajv.compile>>();

  return (schema, value) => {
    if (schema === undefined) return ['nothing is documented here'];
    const text = JSON.stringify(schema).replaceAll('"#/components/', `"${DOCUMENT}#/components/`);
    const validate = compiled.get(text) ?? ajv.compile(JSON.parse(text));
    compiled.set(text, validate);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
    );
  };
}
