import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

/** An executable script: what a test puts in the place of a program it looks for. */
export function writeScript(path: string, ...lines: string[]): void {
  writeFileSync(path, ['#!/bin/sh', ...lines, ''].join('\n'));
  chmodSync(path, 0o755);
}

export const temporalScript = (version: string) => `echo "temporal version ${version}"`;

/** An archive as the site gives it: the executable and a licence, side by side. */
export function archiveOf(directory: string, version: string): Buffer {
  const content = mkdtempSync(join(directory, 'archive-'));
  mkdirSync(content, { recursive: true });
  writeScript(join(content, 'temporal'), temporalScript(version));
  writeFileSync(join(content, 'LICENSE'), 'MIT');
  execFileSync('tar', ['-czf', join(content, 'all.tar.gz'), '-C', content, 'LICENSE', 'temporal']);
  return readFileSync(join(content, 'all.tar.gz'));
}

export interface DownloadSite {
  url: string;
  /** Paths that were asked for, with their query. */
  asked: string[];
  close(): Promise<void>;
}

/**
 * Stands for Temporal's download site: like it, it answers with a redirect to where the archive is. A
 * body that is `cut` ends before its announced length.
 */
export async function openDownloadSite(answer: { body: Buffer; cut?: boolean }): Promise<DownloadSite> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    if (request.url?.startsWith('/cli/')) {
      response.writeHead(307, { location: '/files/temporal_cli.tar.gz' }).end();
      return;
    }
    response.writeHead(200, { 'content-length': answer.body.length });
    if (!answer.cut) return void response.end(answer.body);
    response.write(answer.body.subarray(0, answer.body.length / 2), () => response.destroy());
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    close: () => new Promise((done) => server.close(() => done())),
  };
}
