export function writePage(): void {}
