import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';

/** The parts of JSON Schema, draft 2020-12, that this folder reads. */
export interface JsonSchema {
  type?: string | string[];
  description?: string;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  [keyword: string]: unknown;
}

/** For a request, the form that callers write; for an answer, the form that they read. */
type Side = 'input' | 'output';

export interface Schemas {
  of(schema: z.ZodType, side: Side): JsonSchema;
  /** The object itself, even if it has a name. */
  inline(schema: z.ZodType, side: Side): JsonSchema;
  /** Every schema with a name (zod's `meta({ id })`) that was converted. */
  components(): Record<string, JsonSchema>;
}

/** JSON schemas from zod's, where a schema with a name becomes a component of the document. */
export function createSchemas(): Schemas {
  const components: Record<string, JsonSchema> = {};

  const convert = (schema: z.ZodType, side: Side): JsonSchema => {
    const { $schema: _, $defs = {}, ...json } = z.toJSONSchema(schema, OPTIONS[side]);
    for (const [name, definition] of Object.entries($defs)) {
      const component = pointedAtComponents(definition as JsonSchema);
      if (!isDeepStrictEqual(components[name] ?? component, component)) {
        throw new Error(`Two schemas of the API's document are named ${name}`);
      }
      components[name] = component;
    }
    return pointedAtComponents(json as JsonSchema);
  };

  // Converting a schema takes a millisecond, and most errors and some answers share one.
  const converted = { input: new Map<z.ZodType, JsonSchema>(), output: new Map<z.ZodType, JsonSchema>() };
  const of = (schema: z.ZodType, side: Side): JsonSchema => {
    const json = converted[side].get(schema) ?? convert(schema, side);
    converted[side].set(schema, json);
    return json;
  };

  return {
    of,
    inline(schema, side) {
      const json = of(schema, side);
      const name = typeof json.$ref === 'string' ? json.$ref.split('/').at(-1) : undefined;
      return (name === undefined ? undefined : components[name]) ?? json;
    },
    components: () => Object.fromEntries(Object.entries(components).sort()),
  };
}

type Override = NonNullable<NonNullable<Parameters<typeof z.toJSONSchema>[1]>['override']>;

const override: Override = ({ zodSchema, jsonSchema }) => {
  const { def } = zodSchema._zod;
  // A default may have another type than callers write: the number that a query's text stands for.
  if (def.type === 'default') jsonSchema.default ??= (def as z.core.$ZodDefaultDef).defaultValue as never;
  // Next to the format, zod's long pattern says the same.
  if (jsonSchema.format === 'email') delete jsonSchema.pattern;
  if (zodSchema instanceof z.ZodISODateTime) delete jsonSchema.pattern;
  if (jsonSchema.multipleOf === 1) {
    jsonSchema.type = 'integer';
    delete jsonSchema.multipleOf;
  }
  // A query has the number as text; the document shows the number.
  if (jsonSchema.type === 'integer' || jsonSchema.type === 'number') delete jsonSchema.pattern;
  if (jsonSchema.type === 'integer') {
    if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  }
};

const OPTIONS = {
  input: { io: 'input', unrepresentable: 'any', override },
  output: { io: 'output', unrepresentable: 'any', override },
} as const;

function pointedAtComponents(schema: JsonSchema): JsonSchema {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/')) as JsonSchema;
}
