/**
 * A user of the dashboard without a browser: signs in by a one-time link, keeps the cookie, and sends the requests of
 * the pages with the headers of a browser. `codeOf` returns the code of an authenticator app (RFC 6238).
 */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import type { AnswerOf, RouteName } from '../../src/http/dashboard/interface.ts';
import { bodyOf } from '../kit/invoices.ts';
import type { Service } from '../kit/service.ts';

export type Role = 'owner' | 'developer' | 'clerk' | 'viewer';
export const ROLES: readonly Role[] = ['owner', 'developer', 'clerk', 'viewer'];
export const PASSWORD = 'wet paper lantern orbit';
export const NEW_PASSWORD = 'seven copper kites above';
export const API = '/dashboard/api';
export const COOKIE = '__Host-storeroom_session';

/** Counts visitors. Each gets a different network, because a network has only some attempts a minute. */
let visitors = 0;
const nextAddress = (): string => `10.${Math.floor(++visitors / 256)}.${visitors % 256}.1`;

export interface Reply {
  status: number;
  headers: Headers;
  text: string;
  body: any; // eslint-disable-line typescript/no-explicit-any -- tests look into it freely
}

/** Returns the status, followed by the code if the call was refused: `200` or `401 SIGN_IN_REFUSED`. */
export const codeIn = ({ status, body }: Reply): string =>
  status < 400 ? `${status}` : `${status} ${body?.code ?? ''}`;

export async function expectCode(replying: Reply | Promise<Reply>, code: string): Promise<Reply> {
  const reply = await replying;
  assert.equal(codeIn(reply), code, reply.text);
  return reply;
}

export const expectOk = (replying: Reply | Promise<Reply>): Promise<Reply> => expectCode(replying, '200');

/** Returns the token of a one-time link. */
export const tokenOf = ({ link }: { link: string }): string => link.split('#')[1]!;

export class Visitor {
  readonly service: Service;
  readonly teamID: string;
  readonly email: string;
  /** The value of X-Forwarded-For; '' sends no such header. */
  client = nextAddress();
  password = PASSWORD;
  /** The token in the cookie; undefined if no one is signed in. */
  token: string | undefined;

  constructor(service: Service, teamID: string, email: string) {
    this.service = service;
    this.teamID = teamID;
    this.email = email;
  }

  /** Makes a user by the command line and signs in by the link. */
  static async make(
    service: Service,
    teamID: string,
    role: Role,
    email = `${role}@${teamID}.example`,
  ): Promise<Visitor> {
    const visitor = new Visitor(service, teamID, email);
    await visitor.open(await visitor.invite(role));
    return visitor;
  }

  /** Invites another user to the tenant, as this owner, and signs in that user. */
  async add(role: Role, email = `${role}@${this.teamID}.example`): Promise<Visitor> {
    const visitor = new Visitor(this.service, this.teamID, email);
    await visitor.open(tokenOf(await this.ask('POST /users', { email, role })));
    return visitor;
  }

  /** Sets the password with the token of a link, which also signs in. */
  open(token: string): Promise<Reply> {
    return expectOk(this.post('/link', { token, password: this.password }));
  }

  /** Returns the same user in another browser, not signed in. */
  elsewhere(): Visitor {
    const visitor = new Visitor(this.service, this.teamID, this.email);
    visitor.password = this.password;
    return visitor;
  }

  /** Signs in the same user in another browser. */
  async again(): Promise<Visitor> {
    const visitor = this.elsewhere();
    await expectOk(visitor.signIn());
    return visitor;
  }

  /** Runs `storeroom user create` and returns the token of the link that it prints. */
  async invite(role: Role): Promise<string> {
    const words = ['user', 'create', this.teamID, this.email, '--role', role, '--json'];
    const { code, stderr, json } = await this.service.command(...words);
    assert.equal(code, 0, stderr);
    return tokenOf(json() as { link: string });
  }

  signIn(password = this.password, code?: string): Promise<Reply> {
    const { teamID, email } = this;
    return this.post('/sign-in', { teamID, email, password, ...(code !== undefined && { code }) });
  }

  /** Calls a route and returns the body of its response. The status has to be 200. */
  async ask<Name extends RouteName>(route: Name, sent: object = {}): Promise<AnswerOf<Name>> {
    const [method, path = ''] = route.split(' ');
    const reply = method === 'GET' ? this.get(path, sent as Record<string, string>) : this.post(path, sent);
    return (await expectOk(reply)).body as AnswerOf<Name>;
  }

  /** Invoices lines of an order, named by their numbers, as the page does. */
  async invoice(
    ORDER_NUMBER: string,
    {
      quantities = {},
      serials = {},
      tracking = [],
    }: { quantities?: object; serials?: object; tracking?: readonly string[] } = {},
  ): Promise<Reply> {
    const { body } = await this.get('/records/orders/single', { orderNum: ORDER_NUMBER });
    const lines = ((body.subRecords ?? []) as { ORDER_LINEITEMS: Record<string, string> }[]).map(
      (line) => line.ORDER_LINEITEMS,
    );
    const asked = {
      quantities: new Map(Object.entries(quantities)),
      serials: new Map(Object.entries(serials)),
      tracking,
    };
    return this.post('/records/orders/invoice', bodyOf(ORDER_NUMBER, asked, lines));
  }

  get(path: string, query: Record<string, string> = {}, headers: Record<string, string> = {}): Promise<Reply> {
    const search = new URLSearchParams(query).toString();
    return this.send('GET', API + path + (search === '' ? '' : `?${search}`), undefined, headers);
  }

  post(path: string, body: unknown = {}, headers: Record<string, string> = {}): Promise<Reply> {
    return this.send('POST', API + path, JSON.stringify(body), headers);
  }

  /**
   * Sends a request as the pages do, and keeps the cookie of the response. The given headers replace the usual ones; a
   * header with the value '' is left out.
   */
  async send(method: string, path: string, body?: string, headers: Record<string, string> = {}): Promise<Reply> {
    const all: Record<string, string> = {
      'sec-fetch-site': 'same-origin',
      origin: this.service.origin,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(this.client !== '' && { 'x-forwarded-for': this.client }),
      ...(this.token !== undefined && { cookie: `${COOKIE}=${this.token}` }),
      ...headers,
    };
    const sent = Object.entries(all).filter(([, value]) => value !== '');
    const response = await fetch(this.service.origin + path, {
      method,
      headers: sent,
      redirect: 'manual',
      ...(body !== undefined && { body }),
    });
    for (const cookie of response.headers.getSetCookie()) {
      const value = new RegExp(`^${COOKIE}=([^;]*)`).exec(cookie)?.[1];
      if (value !== undefined) this.token = value === '' ? undefined : value;
    }
    const text = await response.text();
    const isJson = text !== '' && response.headers.get('content-type')?.startsWith('application/json') === true;
    return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined };
  }
}

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
export const STEP_MS = 30_000;

/** Decodes base32 text that makes whole bytes. */
export function bytesOf(base32: string): Buffer {
  const bits = Array.from(base32, (character) => BASE32.indexOf(character).toString(2).padStart(5, '0')).join('');
  return Buffer.from(bits.match(/.{8}/g)!.map((byte) => Number.parseInt(byte, 2)));
}

/** Returns the code of a base32 secret, this many time steps after the service's current one. */
export function codeOf(secret: string, service: Pick<Service, 'now'>, steps = 0): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(service.now() / STEP_MS) + steps));
  const digest = createHmac('sha1', bytesOf(secret)).update(counter).digest();
  const place = digest.at(-1)! & 15;
  return String((digest.readUInt32BE(place) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}
