import type { ValidationIssue } from '../validation-issue';
import { holdsPlaceholder } from './attribute-value';
import { parseVoiceXml } from './parse-voice-xml';
import { allSteps } from './program';

export type Speaks = (language: string | undefined) => boolean;

/**
 * Reports languages of a document that no voice speaks, each once. A language given by a placeholder is not
 * known yet.
 */
export function withoutVoice(xml: string, speaks: Speaks): ValidationIssue[] {
  const languages = new Set<string | undefined>();
  for (const step of allSteps(parseVoiceXml(xml).program?.steps ?? [])) {
    if (step.verb === 'Say' && !holdsPlaceholder(step.language ?? '')) languages.add(step.language);
  }
  return [...languages]
    .filter((language) => !speaks(language))
    .map((language) => ({
      path: 'body',
      code: 'no_voice',
      message: `There is no voice for ${language === undefined ? 'texts without a language' : `the language ${language}`}`,
      severity: 'warning' as const,
    }));
}
