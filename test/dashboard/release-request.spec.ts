import { describe, expect, it } from '@jest/globals';
import type { HttpException } from '@nestjs/common';
import { toReleaseOrder, type DashboardRequest } from '../../lib/dashboard/release-request.js';

const body = { key: 'job:billing' };
const headers = {
  host: 'admin.example:8443',
  'content-type': 'application/json',
  'content-length': '21',
  'x-lock-dashboard': 'release',
};

function statusOf(request: DashboardRequest): number | string {
  try {
    return toReleaseOrder(request).key;
  } catch (error) {
    return (error as HttpException).getStatus();
  }
}

describe('A request to release', () => {
  it.each([
    ['what is no browser', {}],
    ['the page itself', { 'sec-fetch-site': 'same-origin', origin: 'https://admin.example:8443' }],
    ['the page itself, in a browser that names only the origin', { origin: 'http://admin.example:8443' }],
    [
      'the page itself, behind a proxy that renames the host',
      { 'sec-fetch-site': 'same-origin', origin: 'https://locks.example' },
    ],
    ['a host in other letters', { origin: 'https://admin.example:8443', host: 'Admin.Example:8443' }],
    ['JSON with a character set', { 'content-type': 'application/json; charset=utf-8' }],
  ])('is taken from %s', (_, more) => {
    expect(statusOf({ headers: { ...headers, ...more }, body })).toBe('job:billing');
  });

  it.each([
    ['another site', { 'sec-fetch-site': 'cross-site' }, 403],
    ['another site that shares the domain', { 'sec-fetch-site': 'same-site' }, 403],
    ['the address bar', { 'sec-fetch-site': 'none' }, 403],
    ['another origin, in a browser that names only that', { origin: 'https://evil.example' }, 403],
    ['another port', { origin: 'https://admin.example' }, 403],
    ['an opaque origin', { origin: 'null' }, 403],
    ['an origin that only begins alike', { origin: 'https://admin.example:8443.evil.example' }, 403],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }, 415],
    ['a form of plain text', { 'content-type': 'text/plain' }, 415],
    ['what only begins like JSON', { 'content-type': 'application/jsonp' }, 415],
    ['nobody knows what type', { 'content-type': undefined }, 415],
    ['who does not send the header', { 'x-lock-dashboard': undefined }, 403],
    ['who sends another header', { 'x-lock-dashboard': 'yes' }, 403],
    ['who sends much', { 'content-length': '4097' }, 413],
    ['who does not say how much', { 'content-length': undefined }, 411],
    ['who says nonsense of how much', { 'content-length': 'NaN' }, 411],
  ])('is not taken from %s', (_, more, status) => {
    expect(statusOf({ headers: { ...headers, ...more }, body })).toBe(status);
  });

  it.each([
    [undefined],
    [null],
    ['job'],
    [{}],
    [{ key: 5 }],
    [{ key: '' }],
    [{ key: 'x'.repeat(513) }],
    [{ key: ['a'] }],
    [{ key: 'a', id: 5 }],
  ])('is not taken with the body %j', (wrong) => {
    expect(statusOf({ headers, body: wrong })).toBe(400);
  });

  it('has room for every key there can be', () => {
    const longest = JSON.stringify({ key: '\u0001'.repeat(512), id: '12345678' });
    const sent = { ...headers, 'content-length': String(Buffer.byteLength(longest)) };
    expect(statusOf({ headers: sent, body: JSON.parse(longest) })).toBe('\u0001'.repeat(512));
  });

  it('may say whose lock it means', () => {
    expect(toReleaseOrder({ headers, body: { key: 'a', id: 'abc' } })).toEqual({ key: 'a', id: 'abc' });
  });

  it('is refused without a word about what was asked for', () => {
    try {
      toReleaseOrder({ headers, body: { key: 'secret'.repeat(100) } });
    } catch (error) {
      expect(JSON.stringify((error as HttpException).getResponse())).not.toContain('secret');
    }
    expect.assertions(1);
  });
});
