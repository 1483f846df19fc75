export { LockHealthIndicator, type LockHealthOptions, type LockHealthResult } from './lock-health.indicator.js';
