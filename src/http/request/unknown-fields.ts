import type { preValidationHookHandler } from 'fastify';
import { campaignBody, campaignDetail } from '../../contracts/campaigns';
import type { ValidationIssue } from '../../domain/validation-issue';
import type { App } from './routing';

declare module 'fastify' {
  interface FastifyRequest {
    /** About the names of its body that no field has. */
    unknownFields: ValidationIssue[] | undefined;
  }
}

/** A campaign that was read and is sent back has more than what creates one. */
const KNOWN = new Set([...Object.keys(campaignBody.shape), ...Object.keys(campaignDetail.shape.data.shape)]);
const LISTED_MAX = 20;
const NAME_CHARS = 64;

/**
 * A campaign is an object of the specification, whose unknown fields are ignored (api.md 1). A misspelt `schedule` sends at
 * once, so its name is told in the answer's warnings. Validation drops such fields; they are noted before.
 */
export function notesUnknownFields(app: App): preValidationHookHandler {
  app.decorateRequest('unknownFields', undefined);
  return (request, _reply, done) => {
    const { body } = request;
    if (typeof body === 'object' && body !== null && !Array.isArray(body)) {
      const unknown = Object.keys(body).filter((name) => !KNOWN.has(name));
      request.unknownFields = unknown.slice(0, LISTED_MAX).map((name) => ({
        path: name.slice(0, NAME_CHARS),
        code: 'unknown_field',
        message: 'No field of a campaign has this name, so that it has no effect; /docs lists them',
        severity: 'warning',
      }));
    }
    done();
  };
}
