/** One answer for several: a clear no counts first, then an unclear answer, which rejects. */
export async function together(answers: readonly Promise<boolean>[]): Promise<boolean> {
  const results = await Promise.allSettled(answers);
  if (results.some((result) => result.status === 'fulfilled' && !result.value)) return false;
  const failed = results.find((result) => result.status === 'rejected');
  if (failed) throw failed.reason;
  return true;
}
