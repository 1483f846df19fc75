import { describe, expect, it } from '@jest/globals';
import { Linter } from 'eslint';
import { dashboardPage, pageHeaders } from '../../../lib/dashboard/page/page.js';
import { pageMarkup } from '../../../lib/dashboard/page/markup.js';
import { pageScript } from '../../../lib/dashboard/page/script.js';

const page = dashboardPage('4711');
const policy = pageHeaders('4711')['Content-Security-Policy']!.split('; ');

describe('The page', () => {
  it('lets only its own script and style run, and nothing else be fetched or framed', () => {
    expect(policy).toEqual([
      "default-src 'none'",
      "script-src 'nonce-4711'",
      "style-src 'nonce-4711'",
      "connect-src 'self'",
      'img-src data:',
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ]);
    expect(pageHeaders('4711')).toMatchObject({
      'X-Content-Type-Options': 'nosniff',
      'Referrer-Policy': 'no-referrer',
      'Cache-Control': 'no-store',
    });
  });

  it('has one script and one style, with the nonce, and nothing inline that the policy would stop', () => {
    expect(page.match(/<(script|style)\b[^>]*>/g)).toEqual(['<style nonce="4711">', '<script nonce="4711">']);
    expect(pageMarkup).not.toMatch(/\sstyle=|\son\w+=/);
  });

  it('asks nobody else for anything, and is below 200 KB', () => {
    const addresses = page.match(/\b(?:https?:)?\/\/[\w.-]+\.\w+[^\s"']*/g) ?? [];
    expect([...new Set(addresses)]).toEqual(['http://www.w3.org/2000/svg']);
    expect(page.match(/\b(?:src|href)="[^"]*"/g)).toEqual(['href="data:,"']);
    expect(Buffer.byteLength(page)).toBeLessThan(200_000);
  });

  it('has a script that uses nothing but the language and the window', () => {
    const found = new Linter().verify(pageScript, {
      languageOptions: { sourceType: 'script', globals: { window: 'readonly' } },
      rules: { 'no-undef': 'error' },
    });
    expect(found.map(({ message, line }) => `${line}: ${message}`)).toEqual([]);
  });

  it('has a script that makes no markup of text, and does not end early', () => {
    expect(pageScript).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function/);
    expect(pageScript).not.toMatch(/<\/script|<!--/i);
  });

  it('has every element that its script looks for', () => {
    const wanted = [...pageScript.matchAll(/byId\(['"]([\w-]+)['"]\)/g)].map(([, id]) => id!);
    const ids = [...pageMarkup.matchAll(/\sid="([\w-]+)"/g)].map(([, id]) => id!);
    expect(wanted.length).toBeGreaterThan(30);
    expect(wanted.filter((id) => !ids.includes(id))).toEqual([]);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('refers to ids that there are, where one element describes another', () => {
    const ids = [...pageMarkup.matchAll(/\sid="([\w-]+)"/g)].map(([, id]) => id!);
    const named = [...pageMarkup.matchAll(/\s(?:for|aria-labelledby|aria-describedby)="([\w-]+)"/g)].map(
      ([, id]) => id!,
    );
    expect(named.filter((id) => !ids.includes(id))).toEqual([]);
  });
});
