// Loaded before the gateway by a spec: its subscription dies as soon as DYING_SUBSCRIPTION_FILE is there.
const { existsSync } = require('node:fs');
const { PostgresReportLog } = require('@undertone/report-log');

const { subscribe } = PostgresReportLog.prototype;
PostgresReportLog.prototype.subscribe = function (consumer) {
  const died = new Promise((resolve) => {
    setInterval(() => {
      if (existsSync(process.env.DYING_SUBSCRIPTION_FILE)) resolve(new Error('the group is gone'));
    }, 5).unref();
  });
  return { ...subscribe.call(this, consumer), died };
};
