export {
  describeWithKafka,
  type KafkaCluster,
  type KafkaClusterSettings,
  KafkaLauncherError,
  startKafkaCluster,
  testBrokers,
  uniqueTopic,
} from './kafka-cluster';
