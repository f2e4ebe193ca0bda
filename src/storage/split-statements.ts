/** The statements of a migration. Each ends with a semicolon at the end of a line. */
export function splitStatements(text: string): string[] {
  return text
    .split(/;[ \t]*\n/)
    .map((statement) => statement.trim())
    .filter((statement) => statement.replace(/--.*$/gm, '').trim() !== '');
}
