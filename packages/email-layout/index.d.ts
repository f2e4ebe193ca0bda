/**
 * The HTML of an EmailBuilder document, whose root is the block named `root`. The document is to be
 * checked before: what the renderer does with one that is not whole is not defined.
 */
export function renderLayout(document: Record<string, unknown>): string;
