import { WAIT_LIMITS_MS } from '../process-figures.js';
import { RELEASE_HEADER, RELEASE_HEADER_VALUE } from '../release-request.js';
import { createCharts } from './client/charts.js';
import { createDetail } from './client/detail.js';
import { createDom } from './client/dom.js';
import { createFeed } from './client/feed.js';
import { createGrid } from './client/grid.js';
import { createListing } from './client/listing.js';
import { main, type Constants, type Parts } from './client/main.js';
import { createModel } from './client/model.js';
import { createPanels } from './client/panels.js';
import { createRelease } from './client/release.js';
import { createRowViews } from './client/row-view.js';
import { createText } from './client/text.js';
import { createTimeline } from './client/timeline.js';

const parts: Parts = {
  createCharts,
  createDetail,
  createDom,
  createFeed,
  createGrid,
  createListing,
  createModel,
  createPanels,
  createRelease,
  createRowViews,
  createText,
  createTimeline,
};

const constants: Constants = {
  waitLimitsMs: WAIT_LIMITS_MS,
  releaseHeader: { name: RELEASE_HEADER, value: RELEASE_HEADER_VALUE },
};

/**
 * What runs in the browser: the texts of these functions. None of them may use anything from around itself. Some compilers name functions with a helper of their own, `__name`.
 * The build writes out what comes of it, so that a bundler has one text to carry and no functions to change.
 */
export const pageScript = `"use strict";
const __name = (target) => target;
(${String(main)})(window, {
${Object.entries(parts)
  .map(([name, part]) => `${name}: ${String(part)}`)
  .join(',\n')}
}, ${JSON.stringify(constants)});`;
