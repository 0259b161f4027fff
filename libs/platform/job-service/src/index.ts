export { jobProviders, type JobProviderOptions } from './job-providers';
export { JobDto, JobsController } from './jobs-controller';
