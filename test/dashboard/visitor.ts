/**
 * Somebody at the dashboard without a browser: signs in by the one-time link of `storeroom user create`, keeps the cookie, and asks what the pages ask,
 * with the headers a browser sends from the dashboard's own pages. Also the six digits an authenticator app would show, reckoned anew from RFC 6238.
 */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import type { Service } from '../kit/service.ts';

export type Role = 'owner' | 'developer' | 'viewer';
export const ROLES: readonly Role[] = ['owner', 'developer', 'viewer'];
export const PASSWORD = 'wet paper lantern orbit';
export const API = '/dashboard/api';
export const COOKIE = '__Host-storeroom_session';

/** Every visitor comes from an address of its own, which counts where the service trusts the proxy it comes by: an address has few attempts a minute. */
let visitors = 0;
const nextAddress = (): string => `10.0.${Math.floor(++visitors / 256)}.${visitors % 256}`;

export interface Reply {
  status: number;
  headers: Headers;
  text: string;
  body: any; // eslint-disable-line typescript/no-explicit-any -- tests look into it freely
}

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
    const { status, body, text } = await this.post('/users', { email, role });
    assert.equal(status, 200, text);
    await visitor.open((body as { link: string }).link.split('#')[1]!);
    return visitor;
  }

  /** Sets the password by the token of a link, and is signed in. */
  async open(token: string): Promise<Reply> {
    const reply = await this.post('/link', { token, password: this.password });
    assert.equal(reply.status, 200, reply.text);
    return reply;
  }

  /** The same user at another browser, not signed in. */
  elsewhere(): Visitor {
    const visitor = new Visitor(this.service, this.teamID, this.email);
    visitor.password = this.password;
    return visitor;
  }

  /** `storeroom user create`; the token of the link it prints. */
  async invite(role: Role): Promise<string> {
    const { code, stderr, stdout } = await this.service.command(
      'user',
      'create',
      this.teamID,
      this.email,
      '--role',
      role,
      '--json',
    );
    assert.equal(code, 0, stderr);
    return (JSON.parse(stdout) as { link: string }).link.split('#')[1]!;
  }

  signIn(password = this.password, code?: string): Promise<Reply> {
    return this.post('/sign-in', {
      teamID: this.teamID,
      email: this.email,
      password,
      ...(code !== undefined && { code }),
    });
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
const STEP_MS = 30_000;

/** The bytes of base32 whose characters make whole bytes. */
export function bytesOf(base32: string): Buffer {
  const bits = Array.from(base32, (character) => BASE32.indexOf(character).toString(2).padStart(5, '0')).join('');
  return Buffer.from(bits.match(/.{8}/g)!.map((byte) => Number.parseInt(byte, 2)));
}

/** The code for a base32 secret, some time steps from now. */
export function codeOf(secret: string, steps = 0): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / STEP_MS) + steps));
  const digest = createHmac('sha1', bytesOf(secret)).update(counter).digest();
  const place = digest.at(-1)! & 15;
  return String((digest.readUInt32BE(place) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}
