import {
  Controller,
  ForbiddenException,
  Get,
  HttpCode,
  Inject,
  MethodNotAllowedException,
  NotImplementedException,
  Post,
  Req,
  Res,
  ServiceUnavailableException,
  UseGuards,
  VERSION_NEUTRAL,
  type Type,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { LockOptionsError, LockUnavailableError } from '../errors.js';
import { LockBoard } from './lock-board.js';
import type { DashboardSettings } from './lock-dashboard.options.js';
import { dashboardPage, pageHeaders } from './page/page.js';
import { toReleaseOrder, type DashboardRequest } from './release-request.js';
import { isSameOrigin } from './same-origin.js';

/** What is used of a response: Express hands out Node's own, Fastify has it in `raw`. */
type AnyResponse = ServerResponse | { readonly raw: ServerResponse; hijack(): unknown };

const NONCE_BYTES = 16;

/** What every dashboard answers. Replies are sent from here, so that no interceptor of the application reshapes them. */
export class DashboardRoutes {
  constructor(
    @Inject(LockBoard) protected readonly board: LockBoard,
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
  ) {}

  @Get()
  page(@Res() response: AnyResponse): void {
    const nonce = randomBytes(NONCE_BYTES).toString('base64url');
    this.reply(response, dashboardPage(nonce), pageHeaders(nonce));
  }

  @Get('events')
  events(@Req() request: DashboardRequest, @Res() response: AnyResponse): void {
    // Even where CORS lets other sites read what this application answers.
    if (!isSameOrigin(request.headers)) throw new ForbiddenException('For the page of the dashboard only.');
    // Express would answer with a stream that has no end, and no content.
    if (request.method === 'HEAD') throw new MethodNotAllowedException();
    if (!this.board.isOpen) throw new ServiceUnavailableException('Nobody else can watch at the moment.');
    if ('hijack' in response) response.hijack();
    this.board.watch('raw' in response ? response.raw : response);
  }

  protected reply(response: AnyResponse, body: unknown, headers: Readonly<Record<string, string>>): void {
    const { httpAdapter } = this.host;
    for (const [name, value] of Object.entries(headers)) httpAdapter.setHeader(response, name, value);
    httpAdapter.reply(response, body, 200);
  }
}

/** The same with `release: true`. */
export class ReleasingRoutes extends DashboardRoutes {
  @Post('release')
  @HttpCode(200)
  async release(@Req() request: DashboardRequest, @Res() response: AnyResponse): Promise<void> {
    const order = toReleaseOrder(request);
    try {
      const outcome = await this.board.release(order);
      this.reply(response, { outcome }, { 'Cache-Control': 'no-store' });
    } catch (error) {
      if (error instanceof LockUnavailableError) {
        throw new ServiceUnavailableException(
          'The store cannot tell whether it is free. Look at its nodes, and try again.',
        );
      }
      if (error instanceof LockOptionsError)
        throw new NotImplementedException('This store cannot release what others hold.');
      throw error;
    }
  }
}

/** A class of its own for each dashboard, since path and guards belong to the class. */
export function dashboardController({ path, guards, release }: DashboardSettings): Type<DashboardRoutes> {
  class LockDashboardController extends (release ? ReleasingRoutes : DashboardRoutes) {}
  Controller({ path, version: VERSION_NEUTRAL })(LockDashboardController);
  UseGuards(...guards)(LockDashboardController);
  return LockDashboardController;
}
