/** What the instruments and spans are filed under. */
export const SCOPE = 'nestjs-fenced-lock';
