import Ajv2020 from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import type { OpenApiDocument } from '../../src/http/openapi/types';

type Find = (schema: Record<string, unknown> | undefined, value: unknown) => string[];

/**
 * Holds values against the schemas that the document shows, read as everybody else reads them: by a
 * validator of JSON Schema 2020-12 that knows nothing of zod. Answers what is wrong, one line each.
 */
export function schemasOf(document: OpenApiDocument): Find {
  const ajv = new Ajv2020({ allErrors: true, strict: true, strictTypes: false });
  addFormats(ajv);
  // So that `#/components/schemas/X` leads somewhere.
  ajv.addVocabulary(['components']);
  const compiled = new Map<unknown, ReturnType<typeof ajv.compile>>();

  return (schema, value) => {
    if (schema === undefined) return ['nothing is documented here'];
    const validate =
      compiled.get(schema) ??
      ajv.compile({ ...schema, components: { schemas: document.components.schemas } });
    compiled.set(schema, validate);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
    );
  };
}
