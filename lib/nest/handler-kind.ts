/**
 * What other decorators made of a method, read from the metadata they leave on it. Their packages are not imported: an
 * application need not have them.
 */
const TICKS = ['SCHEDULER_TYPE', 'EVENT_LISTENER_METADATA'];
const MESSAGES = ['microservices:handler_type', 'message'];
const SERVER_SENT_EVENTS = '__sse__';
const MARKED_ARGUMENTS = '__routeArguments__';

/** @Cron, @Interval, @Timeout or @OnEvent: no caller awaits it, and the next pod does the same work. */
export function handlesTicks(handler: object): boolean {
  return TICKS.some((key) => Reflect.hasOwnMetadata(key, handler));
}

/** @MessagePattern, @EventPattern or @SubscribeMessage with no @Payload, @MessageBody and the like: arguments come unasked. */
export function getsBareMessages(handler: object, owner: object, name: string | symbol): boolean {
  return (
    MESSAGES.some((key) => Reflect.hasOwnMetadata(key, handler)) && !Reflect.hasMetadata(MARKED_ARGUMENTS, owner, name)
  );
}

export function isServerSentEvents(handler: object): boolean {
  return Reflect.hasOwnMetadata(SERVER_SENT_EVENTS, handler);
}
