/** The server's renderer of EmailBuilder documents, loaded for the preview of a draft. */
declare module '@fanfare/email-layout/renderer.cjs' {
  export function renderLayout(document: Record<string, unknown>): string;
}
