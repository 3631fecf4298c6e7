/**
 * Somebody at the dashboard without a browser: signs in by a one-time link, keeps the cookie, and asks what the pages
 * ask, with the headers a browser sends from them. Also the six digits an authenticator app shows, by RFC 6238.
 */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import type { AnswerOf, RouteName } from '../../src/http/dashboard/interface.ts';
import type { Service } from '../kit/service.ts';

export type Role = 'owner' | 'developer' | 'clerk' | 'viewer';
export const ROLES: readonly Role[] = ['owner', 'developer', 'clerk', 'viewer'];
export const PASSWORD = 'wet paper lantern orbit';
export const NEW_PASSWORD = 'seven copper kites above';
export const API = '/dashboard/api';
export const COOKIE = '__Host-storeroom_session';

/** Every visitor has an address of its own where the service trusts its proxy: an address has few attempts a minute. */
let visitors = 0;
const nextAddress = (): string => `10.0.${Math.floor(++visitors / 256)}.${visitors % 256}`;

export interface Reply {
  status: number;
  headers: Headers;
  text: string;
  body: any; // eslint-disable-line typescript/no-explicit-any -- tests look into it freely
}

/** `401 SIGN_IN_REFUSED`, or `200`. */
export const codeIn = ({ status, body }: Reply): string =>
  status < 400 ? `${status}` : `${status} ${body?.code ?? ''}`;

export async function expectCode(replying: Reply | Promise<Reply>, code: string): Promise<Reply> {
  const reply = await replying;
  assert.equal(codeIn(reply), code, reply.text);
  return reply;
}

export const expectOk = (replying: Reply | Promise<Reply>): Promise<Reply> => expectCode(replying, '200');

/** The token of a one-time link. */
export const tokenOf = ({ link }: { link: string }): string => link.split('#')[1]!;

export class Visitor {
  readonly service: Service;
  readonly teamID: string;
  readonly email: string;
  /** X-Forwarded-For; '' for none. */
  client = nextAddress();
  password = PASSWORD;
  /** The token in the cookie; undefined when nobody is signed in. */
  token: string | undefined;

  constructor(service: Service, teamID: string, email: string) {
    this.service = service;
    this.teamID = teamID;
    this.email = email;
  }

  /** Makes a user through the command line and signs in by the link. */
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

  /** Another user of the tenant, invited by this owner. */
  async add(role: Role, email = `${role}@${this.teamID}.example`): Promise<Visitor> {
    const visitor = new Visitor(this.service, this.teamID, email);
    await visitor.open(tokenOf(await this.ask('POST /users', { email, role })));
    return visitor;
  }

  /** Sets the password by the token of a link, and is signed in. */
  open(token: string): Promise<Reply> {
    return expectOk(this.post('/link', { token, password: this.password }));
  }

  /** The same user at another browser, not signed in. */
  elsewhere(): Visitor {
    const visitor = new Visitor(this.service, this.teamID, this.email);
    visitor.password = this.password;
    return visitor;
  }

  /** The same user signed in at another browser. */
  async again(): Promise<Visitor> {
    const visitor = this.elsewhere();
    await expectOk(visitor.signIn());
    return visitor;
  }

  /** `storeroom user create`; the token of the link it prints. */
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

  /** What a route answers, which has to be 200. */
  async ask<Name extends RouteName>(route: Name, sent: object = {}): Promise<AnswerOf<Name>> {
    const [method, path = ''] = route.split(' ');
    const reply = method === 'GET' ? this.get(path, sent as Record<string, string>) : this.post(path, sent);
    return (await expectOk(reply)).body as AnswerOf<Name>;
  }

  get(path: string, query: Record<string, string> = {}, headers: Record<string, string> = {}): Promise<Reply> {
    const search = new URLSearchParams(query).toString();
    return this.send('GET', API + path + (search === '' ? '' : `?${search}`), undefined, headers);
  }

  post(path: string, body: unknown = {}, headers: Record<string, string> = {}): Promise<Reply> {
    return this.send('POST', API + path, JSON.stringify(body), headers);
  }

  /** One request as the pages send it; headers given win, one that is '' is left out. Keeps the cookie it is given. */
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

/** The bytes of base32 whose characters make whole bytes. */
export function bytesOf(base32: string): Buffer {
  const bits = Array.from(base32, (character) => BASE32.indexOf(character).toString(2).padStart(5, '0')).join('');
  return Buffer.from(bits.match(/.{8}/g)!.map((byte) => Number.parseInt(byte, 2)));
}

/** The code for a base32 secret, some time steps from the service's present one. */
export function codeOf(secret: string, service: Pick<Service, 'now'>, steps = 0): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(service.now() / STEP_MS) + steps));
  const digest = createHmac('sha1', bytesOf(secret)).update(counter).digest();
  const place = digest.at(-1)! & 15;
  return String((digest.readUInt32BE(place) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}
