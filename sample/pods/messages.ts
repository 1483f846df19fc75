import type { AuthorityChange } from 'nestjs-fenced-lock';

/** What a pod in a process of its own tells its parent. */
export type FromPod =
  | { readonly type: 'ready'; readonly url: string }
  | { readonly type: 'event'; readonly event: string; readonly token: number | undefined }
  | { readonly type: 'authority'; readonly change: AuthorityChange }
  | { readonly type: 'query'; readonly id: number; readonly sql: string; readonly params: unknown[] };

/** What the parent tells such a pod. */
export type ToPod =
  | { readonly type: 'rows'; readonly id: number; readonly rows: unknown[] }
  | { readonly type: 'refused'; readonly id: number; readonly reason: string }
  | { readonly type: 'close' };

export function tell(message: FromPod): void {
  process.send?.(message);
}
