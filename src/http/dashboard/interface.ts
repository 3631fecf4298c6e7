/** The JSON between the dashboard's pages and the service, under /dashboard/api, as types. Routes: route-table.ts. */
import type { RecordType } from '../../pims/rules/fields.ts';
import type { RouteName, Routes } from './route-table.ts';

export type { RouteName };
export type RouteWith<Method extends 'GET' | 'POST'> = Extract<RouteName, `${Method} ${string}`>;
type GivenOf<Name extends RouteName> = Parameters<Routes[Name]['run']>[1];
export type BodyOf<Name extends RouteName> = GivenOf<Name>;
export type QueryOf<Name extends RouteName> = GivenOf<Name>;
/** The answer of a route without one is `{}`. */
export type AnswerOf<Name extends RouteName> = Awaited<ReturnType<Routes[Name]['run']>>;

export type LinkView = AnswerOf<'POST /link/check'>;
export type SessionView = AnswerOf<'GET /session'>;
export type SessionsView = AnswerOf<'GET /sessions'>;
export type SecondFactorView = AnswerOf<'POST /second-factor/begin'>;
export type KeysView = AnswerOf<'GET /keys'>;
export type CreatedKeyView = AnswerOf<'POST /keys'>;
export type IssuedKeyView = AnswerOf<'POST /keys/replace'>;
export type UsageView = AnswerOf<'GET /usage'>;
export type RequestsView = AnswerOf<'GET /requests'>;
export type RequestView = RequestsView['requests'][number];
export type RequestDetailView = AnswerOf<'GET /requests/single'>;
export type MovementsView = AnswerOf<'GET /stock/movements'>;
export type WaitingView = AnswerOf<'GET /stock/waiting'>['orders'][number];
export type ImportView = AnswerOf<'POST /imports'>;
export type FieldsView = AnswerOf<'GET /fields'>;
export type FieldView = FieldsView['fields'][RecordType][number];
export type SettingsView = AnswerOf<'GET /settings'>;
export type UsersView = AnswerOf<'GET /users'>;
export type UserLinkView = AnswerOf<'POST /users'>;
export type AuditView = AnswerOf<'GET /audit'>;
export type AuditCheckView = AnswerOf<'GET /audit/verify'>;
export type OperateView = AnswerOf<'GET /operate'>;
