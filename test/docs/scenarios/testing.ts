import { describe, expect, it } from '@jest/globals';
import type { Snippets } from '../snippets.js';

export function testing(snippets: Snippets): void {
  describe('billWhileAnotherPodDoes', () => {
    const testing = snippets.claim('function billWhileAnotherPodDoes');

    it('shows in a test what a pod does while another has the key', async () => {
      const { billWhileAnotherPodDoes } = await testing.load<{ billWhileAnotherPodDoes(): Promise<string> }>();
      expect(await billWhileAnotherPodDoes()).toBe('job:billing: LockBusyError');
    });
  });
}
