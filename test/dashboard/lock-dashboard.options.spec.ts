import { describe, expect, it } from '@jest/globals';
import type { CanActivate } from '@nestjs/common';
import { LockOptionsError } from 'nestjs-fenced-lock';
import { LockDashboardModule } from 'nestjs-fenced-lock/dashboard';
import { toDashboardSettings } from '../../lib/dashboard/lock-dashboard.options.js';

class AdminGuard implements CanActivate {
  canActivate(): boolean {
    return true;
  }
}

describe('The options of the dashboard', () => {
  it('demand to know who may see it', () => {
    for (const options of [{}, { guards: [] }, { allowUnguarded: false }]) {
      expect(() => LockDashboardModule.forRoot(options)).toThrow(LockOptionsError);
      expect(() => LockDashboardModule.forRoot(options)).toThrow(/guards: \[AdminGuard\].*allowUnguarded: true/);
    }
    expect(() => LockDashboardModule.forRoot({ guards: [AdminGuard] })).not.toThrow();
    expect(() => LockDashboardModule.forRoot({ guards: [new AdminGuard()] })).not.toThrow();
    expect(() => LockDashboardModule.forRoot({ allowUnguarded: true })).not.toThrow();
  });

  it('are at /locks, and take nothing from anybody, by default', () => {
    expect(toDashboardSettings({ guards: [AdminGuard] })).toMatchObject({ path: 'locks', release: false });
  });

  it.each([
    ['/locks', 'locks'],
    ['locks/', 'locks'],
    ['/admin/v1.2/locks', 'admin/v1.2/locks'],
  ])('take the path %s', (path, trimmed) => {
    expect(toDashboardSettings({ path, allowUnguarded: true }).path).toBe(trimmed);
  });

  it.each([
    ['path', { path: '' }],
    ['path', { path: '/' }],
    ['path', { path: '/:tenant/locks' }],
    ['path', { path: '/locks*' }],
    ['path', { path: '/a b' }],
    ['path', { path: '//locks' }],
    ['path', { path: 5 }],
    ['guards', { guards: AdminGuard }],
    ['guards', { guards: ['admin'] }],
    ['guards', { guards: [undefined] }],
    ['allowUnguarded', { allowUnguarded: 'yes' }],
    ['release', { release: 1 }],
    ['imports', { imports: AdminGuard }],
    ['manager name', { manager: ' ' }],
    ['dashboard option', { guard: AdminGuard }],
  ])('refuse a %s that makes no sense: %j', (option, options) => {
    const attempt = (): unknown => LockDashboardModule.forRoot({ allowUnguarded: true, ...options } as never);
    expect(attempt).toThrow(LockOptionsError);
    expect(attempt).toThrow(expect.objectContaining({ option }));
  });

  it('refuse what are no options', () => {
    expect(() => LockDashboardModule.forRoot(undefined as never)).toThrow(/dashboard options/);
  });
});
