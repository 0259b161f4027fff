import { runTrainer } from '@undertone/jobs';
import { trainMechanism } from './train-mechanism';

runTrainer(trainMechanism);
