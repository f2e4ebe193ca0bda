import type { Access } from '../request/access';
import type { JsonSchema } from './schemas';

/** The parts of OpenAPI 3.1 that the document uses. */
export interface OpenApiDocument {
  openapi: string;
  info: Record<string, string>;
  servers: { url: string }[];
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, OperationObject>>;
  components: Record<'schemas' | 'securitySchemes' | 'headers', Record<string, unknown>> & {
    examples: Record<string, { value: unknown }>;
  };
}

export interface OperationObject {
  operationId: string;
  tags: string[];
  summary: string;
  description: string;
  /** What it needs of its caller (docs/access.md); absent: nothing. */
  'x-access'?: Access;
  parameters?: ParameterObject[];
  requestBody?: { required: boolean; content: Record<string, MediaObject> };
  responses: Record<string, ResponseObject>;
  security: Record<string, []>[];
}

export interface ParameterObject {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  description?: string;
  schema: JsonSchema;
  example?: unknown;
}

export interface MediaObject {
  schema: JsonSchema;
  example?: unknown;
  examples?: Record<string, { value?: unknown; $ref?: string }>;
}

export interface ResponseObject {
  description: string;
  headers: Record<string, unknown>;
  content?: Record<string, MediaObject>;
}
