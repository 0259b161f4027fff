import { type ConfigOf } from './load-config';
import { VARIABLES as V } from './variables';

/** What every HTTP service reads. */
const service = {
  home: V.home,
  databaseUrl: V.databaseUrl,
  databasePoolMax: V.databasePoolMax,
  databaseStatementTimeoutMs: V.databaseStatementTimeoutMs,
  host: V.host,
  port: V.port,
  shutdownTimeoutMs: V.shutdownTimeoutMs,
  logLevel: V.logLevel,
};

/** What every service that trains reads. */
const training = {
  ...service,
  engine: V.engine,
  dataRoots: V.dataRoots,
  trainers: V.trainers,
  jobLeaseMs: V.jobLeaseMs,
  jobAttempts: V.jobAttempts,
};

export const serviceVariables = service;
/** How to reach the brokers, for every program that speaks to them. */
export const kafkaVariables = {
  kafkaBrokers: V.kafkaBrokers,
  kafkaTls: V.kafkaTls,
  kafkaSaslMechanism: V.kafkaSaslMechanism,
  kafkaSaslUsername: V.kafkaSaslUsername,
  kafkaSaslPassword: V.kafkaSaslPassword,
  kafkaConnectTimeoutMs: V.kafkaConnectTimeoutMs,
};
export const collectionGatewayVariables = {
  ...service,
  ...kafkaVariables,
  gatewayParts: V.gatewayParts,
  ingestStallMs: V.ingestStallMs,
  reportRetentionDays: V.reportRetentionDays,
};
export const mechanismTrainingVariables = { ...training, signingKey: V.signingKey };
export const classifierTrainingVariables = training;
/** The command `undertone`, which can run all three services. */
export const undertoneVariables = {
  ...collectionGatewayVariables,
  ...mechanismTrainingVariables,
  ...classifierTrainingVariables,
  url: V.url,
};

export type ServiceConfig = ConfigOf<typeof serviceVariables>;
export type KafkaConfig = ConfigOf<typeof kafkaVariables>;
export type CollectionGatewayConfig = ConfigOf<typeof collectionGatewayVariables>;
export type MechanismTrainingConfig = ConfigOf<typeof mechanismTrainingVariables>;
export type ClassifierTrainingConfig = ConfigOf<typeof classifierTrainingVariables>;
export type UndertoneConfig = ConfigOf<typeof undertoneVariables>;
