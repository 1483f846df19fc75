import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import {
  AbstractGraphQLDriver,
  Args,
  Field,
  GraphQLModule,
  GraphQLSchemaHost,
  ID,
  Mutation,
  ObjectType,
  Parent,
  Query,
  ResolveField,
  Resolver,
} from '@nestjs/graphql';
import { Test } from '@nestjs/testing';
import { graphql, type ExecutionResult } from 'graphql';
import { DistributedLockModule, FencingToken, LockManager, MemoryStore, WithLock } from 'nestjs-fenced-lock';

@ObjectType()
class Ticket {
  @Field(() => ID)
  id!: string;

  @Field()
  token!: number;
}

@Resolver(() => Ticket)
class Tickets {
  @Query(() => Ticket)
  async ticket(@Args('id') id: string): Promise<Ticket> {
    return { id, token: 0 };
  }

  @Mutation(() => Ticket)
  @WithLock('ticket:{0}')
  async buy(@Args('id') _id: string, @FencingToken() token?: number): Promise<Ticket> {
    return { id: `${LockManager.current()?.key}`, token: token ?? 0 };
  }

  @WithLock('seat:{0.id}:{1}')
  @ResolveField(() => String)
  async seat(@Parent() ticket: Ticket, @Args('row') row: string): Promise<string> {
    return `${ticket.id}-${row} under ${LockManager.current()?.key}`;
  }
}

/** The schema that Nest makes, without a server in front of it. */
class SchemaOnly extends AbstractGraphQLDriver {
  async start(): Promise<void> {}
  async stop(): Promise<void> {}
}

describe('GraphQL resolvers', () => {
  const store = new MemoryStore();
  let app: INestApplication;

  beforeAll(async () => {
    const module = await Test.createTestingModule({
      imports: [
        GraphQLModule.forRoot({ driver: SchemaOnly, autoSchemaFile: true }),
        DistributedLockModule.forRoot({ store }),
      ],
      providers: [Tickets],
    }).compile();
    module.useLogger(false);
    app = await module.createNestApplication().init();
  });

  afterAll(() => app.close());

  const ask = async (source: string): Promise<ExecutionResult> =>
    graphql({ schema: app.get(GraphQLSchemaHost).schema, source, contextValue: {} });

  it('run under the lock, with the token behind the arguments, which the schema does not know', async () => {
    await expect(ask('mutation { buy(id: "A1") { id token } }')).resolves.toEqual({
      data: { buy: { id: 'ticket:A1', token: expect.any(Number) } },
    });
    const { schema } = app.get(GraphQLSchemaHost);
    expect(
      schema
        .getMutationType()!
        .getFields()
        ['buy']!.args.map(({ name }) => name),
    ).toEqual(['id']);
  });

  it('can lock for a field alone, by its parent', async () => {
    await expect(ask('{ ticket(id: "A1") { seat(row: "7") } }')).resolves.toEqual({
      data: { ticket: { seat: 'A1-7 under seat:A1:7' } },
    });
  });

  it('fail while the key is busy, without telling its name', async () => {
    await using _ = await new LockManager(store).acquire('ticket:A1');
    const { data, errors } = await ask('mutation { buy(id: "A1") { id } }');
    expect(data).toBeNull();
    expect(errors).toHaveLength(1);
    expect(errors![0]).toMatchObject({ path: ['buy'], originalError: { status: 409 } });
    expect(JSON.stringify(errors)).not.toContain('ticket:A1');
  });
});
