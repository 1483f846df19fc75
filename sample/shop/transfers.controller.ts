import { Body, Controller, Post } from '@nestjs/common';
import { TransfersService, type Transfer } from './transfers.service.js';

@Controller('transfers')
export class TransfersController {
  constructor(private readonly transfers: TransfersService) {}

  @Post()
  transfer(@Body() transfer: Transfer): Promise<void> {
    return this.transfers.transfer(transfer);
  }
}
